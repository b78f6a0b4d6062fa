// Calls of set-up and the end of a database, each of whose allocations fails in turn: they end with a Status, and leave
// a database in which every later call does what it should, and whose directory the next opening accepts. Not covered:
// memory that is lacking in the background threads.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/allocations.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {
namespace {

class ScarceHeap : public testing::Test {
 protected:
  // These names are longer than those that a std::string keeps in itself.
  static constexpr std::string_view kBase = "the table that was there before";
  static constexpr std::string_view kMade = "the one for which memory is lacking";
  static constexpr std::string_view kLater = "the table that is made afterwards";

  void SetUp() override {
    if (!kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  }

  std::unique_ptr<Database> open(Background background = Background::kManual) {
    Options options = manual_options();
    options.background = background;
    options.epoch_ms = 1;
    options.notices = [this](const Notice& notice) {
      if (notice.topic == NoticeTopic::kClosing) ++warnings_;
    };
    options.directory = directory_->path() + "/db";
    options.reliable_directory = rings_->path();
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
    auto opened = Database::open(options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  /// Begins anew with an empty directory.
  void empty() {
    rings_.emplace();
    directory_.emplace();
  }

  /// Makes the allocation of that number fail in `call`, and returns whether there is one.
  static bool fail(std::uint64_t number, const std::function<void()>& call) {
    failing_allocation = allocations + number;
    call();
    const bool failed = allocations >= failing_allocation;
    failing_allocation = 0;
    return failed;
  }

  static void put(Database& database, const Table& table, std::string_view value) {
    Worker worker = database.register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.put(table, "k", value), Outcome::kOk); }));
  }
  std::size_t ring_files() const {
    const RingDirectory::Contents files = rings_->contents();
    return static_cast<std::size_t>(
        std::ranges::count_if(files, [](const auto& file) { return file.first.find("/ring-") != std::string::npos; }));
  }
  template <typename Source>
  static std::string rows(Database& database, const Result<Source>& source) {
    if (!source.ok()) return "(" + source.status().message() + ")";
    Worker worker = database.register_worker().value();
    Transaction t = worker.begin();
    const std::string text = scan_text(t, *source);
    EXPECT_TRUE(t.commit().committed());
    return text;
  }

  /// `make` makes kMade. After a failure, another table is made before kMade is made again.
  using Make = std::function<Status(Database&, const Table& base)>;
  void check_each_failure(const Make& make, const std::function<void(Database&)>& check) {
    std::uint64_t fails = 0;
    for (bool failed = true; failed;) {
      SCOPED_TRACE("allocation " + std::to_string(++fails));
      empty();
      {
        const auto database = open();
        const Table base = database->create_table(kBase).value();
        Status made;
        failed = fail(fails, [&] { made = make(*database, base); });
        EXPECT_EQ(made.code(), failed && !made.ok() ? StatusCode::kResourceExhausted : StatusCode::kOk)
            << made.message();
        const auto later = database->create_table(kLater);
        ASSERT_TRUE(later.ok()) << later.status().message();
        if (!made.ok()) {
          EXPECT_EQ(database->table(kMade).status().code(), StatusCode::kNotFound);
          EXPECT_EQ(database->index(kMade).status().code(), StatusCode::kNotFound);
          made = make(*database, base);
          ASSERT_TRUE(made.ok()) << made.message();
        }
        put(*database, *later, "later");
        put(*database, base, "base");
        check(*database);
        EXPECT_TRUE(database->log_status().ok());
      }
      const auto database = open();
      ASSERT_NE(database, nullptr);
      EXPECT_EQ(rows(*database, database->table(kLater)), "k=later ");
      EXPECT_EQ(rows(*database, database->table(kBase)), "k=base ");
      check(*database);
    }
    EXPECT_GT(fails, 10u) << "the definition, its text, and the file";
  }

  int warnings_ = 0;  // of the end of a database, which this thread tells
  std::optional<RingDirectory> rings_;
  std::optional<RingDirectory> directory_;  // in memory, too, as each of many openings syncs
};

TEST_F(ScarceHeap, ATableIsMadeWhollyOrNotAtAll) {
  check_each_failure([](Database& database, const Table&) { return database.create_table(kMade).status(); },
                     [](Database& database) { EXPECT_EQ(rows(database, database.table(kMade)), ""); });
}

TEST_F(ScarceHeap, AHashTableIsMadeWhollyOrNotAtAll) {
  const TableOptions hash{.index = IndexKind::kHash, .expected_keys = 1000};
  check_each_failure([&](Database& database, const Table&) { return database.create_table(kMade, hash).status(); },
                     [](Database& database) { EXPECT_TRUE(database.table(kMade).ok()); });
}

TEST_F(ScarceHeap, AnIndexIsMadeWhollyOrNotAtAll) {
  const IndexOptions by_byte{.parts = {{.length = 1, .encoding = IndexEncoding::kBytes}}, .unique = false};
  check_each_failure(
      [&](Database& database, const Table& base) { return database.create_index(base, kMade, by_byte).status(); },
      [](Database& database) { EXPECT_EQ(rows(database, database.index(kMade)), "k=base "); });
}

/// A seal that fails leaves the table as it was, or closed until the next one.
TEST_F(ScarceHeap, ASealOrAResizeMayBeTriedAgain) {
  std::uint64_t fails = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE("allocation " + std::to_string(++fails));
    empty();
    {
      const auto database = open(Background::kThreads);
      const Table sealed = database->create_table(kBase, {.immutable = true}).value();
      const Table resized = database->create_table(kMade, {.index = IndexKind::kHash, .expected_keys = 10}).value();
      put(*database, sealed, "base");
      Status seal, resize;
      failed = fail(fails, [&] { seal = database->seal(sealed); });
      failed |= fail(fails, [&] { resize = database->resize(resized, 100'000); });
      for (const Status& each : {seal, resize})
        EXPECT_EQ(each.code(), failed && !each.ok() ? StatusCode::kResourceExhausted : StatusCode::kOk)
            << each.message();
      put(*database, resized, "made");
      const Status again = database->seal(sealed);
      EXPECT_TRUE(again.ok()) << again.message();
    }
    const auto database = open();
    ASSERT_NE(database, nullptr);
    EXPECT_TRUE(database->table(kBase).value().sealed());
    EXPECT_EQ(rows(*database, database->table(kBase)), "k=base ");
  }
  EXPECT_GT(fails, 10u) << "the manifest";
}

/// Nothing has been noted yet, so the table takes writes as before.
TEST_F(ScarceHeap, ASealThatWaitsInVainLeavesTheTableOpen) {
  empty();
  const auto database = open();
  const Table table = database->create_table(kBase, {.immutable = true}).value();
  std::uint64_t fails = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE("allocation " + std::to_string(++fails));
    put(*database, table, "base");
    Status sealed;
    failed = fail(fails, [&] { sealed = database->seal(table, /*timeout_us=*/0); });
    EXPECT_TRUE(sealed.code() == StatusCode::kUnavailable || sealed.code() == StatusCode::kResourceExhausted)
        << sealed.message();
    put(*database, table, "base");
  }
  EXPECT_GT(fails, 1u) << "the text that says why";
}

/// A worker that could not be made leaves no file, as the next one gets its number.
TEST_F(ScarceHeap, AWorkerIsMadeWhollyOrNotAtAll) {
  std::uint64_t fails = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE("allocation " + std::to_string(++fails));
    empty();
    {
      const auto database = open();
      const Table table = database->create_table(kBase).value();
      std::vector<Worker> workers;
      workers.reserve(8);
      for (std::size_t i = ring_files(); i != 0; --i)  // those with which the opening has loaded what was there
        workers.push_back(database->register_worker().value());
      Result<Worker> worker = Worker();
      failed = fail(fails, [&] { worker = database->register_worker(); });
      EXPECT_EQ(worker.status().code(), failed ? StatusCode::kResourceExhausted : StatusCode::kOk);
      EXPECT_EQ(ring_files(), workers.size() + (worker.ok() ? 1 : 0));
      if (!worker.ok()) worker = database->register_worker();
      ASSERT_TRUE(worker.ok()) << worker.status().message();
      workers.push_back(std::move(*worker));
      EXPECT_TRUE(workers.back().run([&](Transaction& t) { EXPECT_EQ(t.put(table, "k", "base"), Outcome::kOk); }));
      const std::size_t made = workers.size();
      no_memory = true;  // a destructor may not fail
      workers.clear();
      no_memory = false;
      for (std::size_t i = made; i != 0; --i) workers.push_back(database->register_worker().value());
      EXPECT_EQ(ring_files(), made) << "they are the same workers again";
      workers.clear();
      const Status closed = database->close();
      EXPECT_TRUE(closed.ok()) << closed.message();
    }
    const auto database = open();
    ASSERT_NE(database, nullptr);
    EXPECT_EQ(rows(*database, database->table(kBase)), "k=base ");
  }
  EXPECT_GT(fails, 5u) << "the worker, its ring, and the lists";
}

/// A database that was not told to end in order is recovered; the first failure is what each later call tells.
TEST_F(ScarceHeap, AFailedCloseLosesNothingAndIsTold) {
  for (const Background background : {Background::kManual, Background::kThreads}) {
    std::uint64_t fails = 0, failures = 0;
    for (bool failed = true; failed;) {
      SCOPED_TRACE("allocation " + std::to_string(++fails));
      empty();
      {
        const auto database = open(background);
        put(*database, database->create_table(kBase).value(), "base");
        Status closed;
        failed = fail(fails, [&] { closed = database->close(); });
        EXPECT_EQ(closed.code(), failed && !closed.ok() ? StatusCode::kResourceExhausted : StatusCode::kOk)
            << closed.message();
        failures += closed.ok() ? 0 : 1;
        const Status again = database->close();
        EXPECT_EQ(again.code(), closed.code());
        EXPECT_EQ(again.message(), closed.message());
      }
      EXPECT_EQ(warnings_, 0) << "close() has told it";
      const auto database = open();
      ASSERT_NE(database, nullptr);
      EXPECT_EQ(rows(*database, database->table(kBase)), "k=base ");
    }
    EXPECT_GT(failures, 10u) << "the manifest";
  }
}

TEST_F(ScarceHeap, ADestructorThatFailsToCloseLosesNothing) {
  std::uint64_t fails = 0;
  int told = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE("allocation " + std::to_string(++fails));
    empty();
    {
      auto database = open();
      put(*database, database->create_table(kBase).value(), "base");
      failed = fail(fails, [&] { database.reset(); });
    }
    told += std::exchange(warnings_, 0);
    const auto database = open();
    ASSERT_NE(database, nullptr);
    EXPECT_EQ(rows(*database, database->table(kBase)), "k=base ");
  }
  EXPECT_GT(told, 10) << "the manifest";
}

/// There is no memory for the warning either.
TEST_F(ScarceHeap, ADestructorWithoutAnyMemoryWarns) {
  empty();
  {
    auto database = open();
    put(*database, database->create_table(kBase).value(), "base");
    no_memory = true;
    database.reset();
    no_memory = false;
  }
  EXPECT_EQ(warnings_, 1);
  const auto database = open();
  ASSERT_NE(database, nullptr);
  EXPECT_EQ(rows(*database, database->table(kBase)), "k=base ");
}

}  // namespace
}  // namespace granary::tests
