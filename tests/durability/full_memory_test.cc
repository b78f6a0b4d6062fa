// Databases that fill their memory limit, closed and opened again with the same one: what could be held can be opened.
// With a smaller one the message names a limit that does. Ordered, hash, shared and indexed tables, and a hash table
// that has outgrown its main header; by log and by checkpoint; rows that were deleted long ago. Not covered: nodes of
// clusters.

#include <chrono>
#include <filesystem>
#include <random>
#include <regex>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/ring_directory.h"

namespace granary::tests {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{16} << 20;

enum class Shape { kAscending, kRandom, kEven, kHash, kLongChains, kShared, kIndexed, kChurned, kGrown, kOtherSize };

class FullMemory : public testing::TestWithParam<std::tuple<Shape, bool>> {
 protected:
  FullMemory() { std::filesystem::remove_all(directory_); }
  ~FullMemory() override { std::filesystem::remove_all(directory_); }

  static Shape shape() { return std::get<0>(GetParam()); }
  static bool with_checkpoint() { return std::get<1>(GetParam()); }

  Options options(std::uint64_t limit) const {
    Options options;
    options.directory = directory_;
    options.reliable_directory = rings_.path();
    options.ring_bytes = std::uint64_t{1} << 20;
    options.epoch_ms = 2;
    options.max_open_epochs = 1000;  // as the machine may be loaded
    options.memory_limit_bytes = limit;
    options.huge_pages = HugePages::kOff;
    return options;
  }

  struct Open {
    std::unique_ptr<Database> database;
    Table table;
    Worker worker;
  };
  Open open(std::uint64_t limit) const {
    Open opened;
    auto database = Database::open(options(limit));
    EXPECT_TRUE(database.ok()) << database.status().message();
    if (!database.ok()) return opened;
    opened.database = std::move(database).value();
    TableOptions table{.max_value_bytes = 400};
    if (shape() == Shape::kHash || shape() == Shape::kLongChains || shape() == Shape::kShared)
      table.index = IndexKind::kHash;
    table.expected_keys = shape() == Shape::kLongChains ? 6000 : 20'000;
    table.shared = shape() == Shape::kShared;
    opened.table = opened.database->create_table("t", table).value();
    if (shape() == Shape::kIndexed) {
      const IndexOptions by_value{.parts = {{.source = IndexPart::Source::kValue, .length = 12}}};
      EXPECT_TRUE(opened.database->create_index(opened.table, "i", by_value).ok());
    }
    opened.worker = opened.database->register_worker().value();
    return opened;
  }

  std::string key(std::uint64_t number) const {
    if (shape() == Shape::kRandom) return std::to_string(std::mt19937_64(number)()) + "-" + std::to_string(number);
    if (shape() == Shape::kEven)  // all leaves fill and split at about the same time
      return std::to_string(number * 0x9E3779B97F4A7C15u) + "-" + std::to_string(number);
    return std::string(encode_key(number).view());
  }
  static std::string value(std::uint64_t number, std::size_t bytes) {
    std::string value = std::to_string(number * 7919);
    value.resize(bytes, 'v');
    return value;
  }
  std::size_t value_bytes(std::uint64_t number) const {
    switch (shape()) {
      case Shape::kGrown: return 20 + number % 380;
      case Shape::kOtherSize: return 390;
      case Shape::kLongChains: return 40;  // much of the memory is the index
      default: return 130;
    }
  }

  bool insert(Open& at, std::uint64_t row, std::size_t bytes) const {
    return at.worker.run([&](Transaction& t) { (void)t.insert(at.table, key(row), value(row, bytes)); }).committed();
  }
  bool remove(Open& at, std::uint64_t row) const {
    return at.worker.run([&](Transaction& t) { (void)t.remove(at.table, key(row)); }).committed();
  }
  /// Memory is used up by small rows, which go; then others get at least half of it.
  std::uint64_t replace_by_others(Open& at) {
    std::uint64_t rows = 0;
    while (insert(at, rows, 20)) ++rows;
    for (; first_ < rows; ++first_) EXPECT_TRUE(remove(at, first_)) << first_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (rows - first_ < kLimit / 1000 && std::chrono::steady_clock::now() < end)
      rows += insert(at, rows, value_bytes(rows)) ? 1 : 0;
    EXPECT_GE(rows - first_, kLimit / 1000);
    return rows;
  }
  /// Until memory is used up. Returns how many rows are there; those before `first_` have been deleted.
  std::uint64_t fill(Open& at) {
    std::uint64_t rows = shape() == Shape::kOtherSize ? replace_by_others(at) : 0;
    if (shape() == Shape::kChurned) {
      for (; rows < 60'000; ++rows) {
        const RunResult done = at.worker.run([&](Transaction& t) {
          (void)t.insert(at.table, key(rows), value(rows, value_bytes(rows)));
          if (rows >= 100) (void)t.remove(at.table, key(rows - 100));
        });
        EXPECT_TRUE(done) << name(done.reason);
      }
      first_ = rows - 100;
    }
    while (insert(at, rows, value_bytes(rows))) ++rows;
    for (int round = 0; shape() == Shape::kChurned && round < 4; ++round) {  // full all the time, and a MiB of the log
      for (int i = 0; i < 1500; ++i) EXPECT_TRUE(remove(at, first_++));
      for (int i = 0; i < 1500; ++i) rows += insert(at, rows, value_bytes(rows)) ? 1 : 0;
    }
    return rows;
  }
  void expect_rows(Open& at, std::uint64_t rows) {
    std::string seen;
    for (std::uint64_t row = first_; row < rows; ++row) {
      Transaction t = at.worker.begin();
      ASSERT_EQ(t.get(at.table, key(row), seen), Outcome::kOk) << row;
      ASSERT_EQ(seen, value(row, value_bytes(row)));
      ASSERT_TRUE(t.commit().committed());
    }
  }

  /// The limit that the message of a refused opening names, in bytes; 0 if it names none.
  static std::uint64_t named_limit(const std::string& message) {
    std::smatch found;
    if (!std::regex_search(message, found, std::regex("open it with ([0-9]+) MiB"))) return 0;
    return std::stoull(found[1]) << 20;
  }

  const std::string directory_ = testing::TempDir() + "granary-full-memory-" + std::to_string(::getpid());
  RingDirectory rings_;
  std::uint64_t first_ = 0;
};

TEST_P(FullMemory, OpensWithTheSameLimitAndServes) {
  std::uint64_t rows = 0;
  {
    Open at = open(kLimit);
    rows = fill(at);
    if (with_checkpoint()) {
      ASSERT_TRUE(at.database->checkpoint().ok());
    }
    at.worker = Worker();
  }
  for (int time = 0; time < 2; ++time) {
    Open at = open(kLimit);
    ASSERT_NE(at.database, nullptr);
    expect_rows(at, rows);
  }
  Open at = open(kLimit);
  ASSERT_NE(at.database, nullptr);
  for (std::uint64_t row = first_; row < first_ + 1000; ++row) {
    const RunResult removed = at.worker.run([&](Transaction& t) { (void)t.remove(at.table, key(row)); });
    ASSERT_TRUE(removed) << row << ": " << name(removed.reason);
  }
  first_ += 1000;
  for (std::uint64_t i = 0; i < 200; ++i, ++rows) {
    const RunResult added =
        at.worker.run([&](Transaction& t) { (void)t.insert(at.table, key(rows), value(rows, value_bytes(rows))); },
                      {.patience_us = 10'000'000});
    ASSERT_TRUE(added) << i << ": " << name(added.reason);
  }
  expect_rows(at, rows);
}

TEST_P(FullMemory, WithASmallerLimitTheMessageNamesOneThatDoes) {
  std::uint64_t rows = 0;
  {
    Open at = open(kLimit);
    rows = fill(at);
    if (with_checkpoint()) {
      ASSERT_TRUE(at.database->checkpoint().ok());
    }
    at.worker = Worker();
  }
  for (const std::uint64_t limit : {kLimit / 2, kLimit / 8 * 7}) {
    const auto refused = Database::open(options(limit));
    if (refused.ok()) continue;  // what was in use may be somewhat less than the limit
    EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
    const std::string message = refused.status().message();
    const std::uint64_t sufficient = named_limit(message);
    ASSERT_NE(sufficient, 0u) << message;
    // What was left out counts, also what goes later.
    EXPECT_LT(sufficient, (shape() == Shape::kOtherSize ? 6 : 3) * kLimit) << message;
    Open at = open(sufficient);
    ASSERT_NE(at.database, nullptr) << message;
    expect_rows(at, rows);
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Shape, bool>>& info) {
  constexpr const char* kNames[] = {"Ascending", "Random",  "Even",    "Hash",  "LongChains",
                                    "Shared",    "Indexed", "Churned", "Grown", "OtherSize"};
  return std::string(kNames[static_cast<std::size_t>(std::get<0>(info.param))]) +
         (std::get<1>(info.param) ? "Checkpoint" : "Log");
}
INSTANTIATE_TEST_SUITE_P(Shapes, FullMemory,
                         testing::Combine(testing::Values(Shape::kAscending, Shape::kRandom, Shape::kEven, Shape::kHash,
                                                          Shape::kShared, Shape::kIndexed, Shape::kChurned,
                                                          Shape::kGrown, Shape::kOtherSize),
                                          testing::Bool()),
                         name_of);
// By log it is loaded with the main header that it had.
INSTANTIATE_TEST_SUITE_P(Chains, FullMemory, testing::Values(std::tuple(Shape::kLongChains, true)), name_of);

}  // namespace
}  // namespace granary::tests
