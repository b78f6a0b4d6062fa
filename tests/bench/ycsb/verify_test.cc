// The check of YCSB's data says of sound data that it is sound, also where the check's own transactions are retried,
// and says of data that it could not read that it could not. Damaged data is in tests/cli.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bench/ycsb/bare_store.h"
#include "bench/ycsb/engine_store.h"
#include "bench/ycsb/workload.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench::ycsb {
namespace {

class NoProgress final : public Progress {
 public:
  void add(std::uint64_t) override {}
};

Settings small_settings() {
  Settings settings;
  settings.options.memory_limit_bytes = std::uint64_t{128} << 20;
  settings.options.huge_pages = HugePages::kOff;
  return settings;
}

template <typename Store>
std::unique_ptr<YcsbWorkload<Store>> loaded(const Parameters& parameters) {
  auto workload = std::make_unique<YcsbWorkload<Store>>("ycsb", small_settings(), parameters);
  NoProgress progress;
  const Status done = workload->load(1, progress);
  EXPECT_TRUE(done.ok()) << done.message();
  return workload;
}

Parameters changes(std::uint64_t keys) { return {.shares = mixes()[1].shares, .keys = keys}; }

void expect_all_hold(const std::vector<Finding>& findings) {
  EXPECT_GE(findings.size(), 3u);
  for (const Finding& finding : findings) EXPECT_TRUE(finding.holds) << finding.condition << ": " << finding.detail;
}

template <typename Store>
std::uint64_t missed_of_two_reads() {
  const auto workload = loaded<Store>(changes(10));
  const auto session = std::move(*workload->store().session(0));
  std::vector<char> buffer(100);
  AbortCounts aborts{};
  for (const std::uint64_t number : {9u, 10u})
    EXPECT_EQ(session->read(KeyBytes(number).view(), buffer, aborts), Ending::kCommitted);
  return session->missed();
}

/// A read of a key that is not there commits, too, and has done less.
TEST(YcsbReads, ThoseThatFindNoRecordAreCounted) {
  EXPECT_EQ(missed_of_two_reads<EngineStore>(), 1u);
  EXPECT_EQ(missed_of_two_reads<BareStore>(), 1u);
}

/// The puts of a transaction that reads and puts all in one go come last, each with a value of its own.
TEST(YcsbSteps, PutsOfATransactionThatReadsInOneGoAreAllMade) {
  const auto workload = loaded<EngineStore>(changes(10));
  const auto session = std::move(*workload->store().session(0));
  const std::array steps{Step{Operation::kPut, KeyBytes(1)}, Step{Operation::kReadModifyWrite, KeyBytes(2)},
                         Step{Operation::kPut, KeyBytes(3)}, Step{Operation::kPut, KeyBytes(4)}};
  std::vector<char> buffer(100), value(100);
  AbortCounts aborts{};
  std::uint64_t written = 0;
  const auto change = [&](const Step&) {
    set_counter(value.data(), value.size(), ++written);
    return std::string_view(value.data(), value.size());
  };
  EXPECT_EQ(session->run_fetched(steps, Portion{100, false, 1}, buffer, change, aborts), Ending::kCommitted);
  for (std::uint64_t number = 0; number < 10; ++number) {
    bool found = false;
    EXPECT_EQ(session->find(KeyBytes(number).view(), buffer, found, aborts), Ending::kCommitted);
    EXPECT_TRUE(found);
    EXPECT_EQ(counter_of({buffer.data(), buffer.size()}), number >= 1 && number <= 4 ? number : 0u) << number;
  }
}

/// A record changes between the check's scan and its commit, which therefore fails, and the records are scanned again.
TEST(YcsbVerify, AScanThatIsRetriedCountsItsRecordsOnce) {
  if constexpr (!base::kTestHooks) GTEST_SKIP();
  const auto workload = loaded<EngineStore>(changes(10));
  auto client = workload->make_client(0).value();
  const tests::AtSyncPoint change("commit.locked", [&] {
    EXPECT_EQ(client->run_one().ending, Ending::kCommitted);
    client = nullptr;  // now the workload knows what it has done
  });
  expect_all_hold(workload->verify());
}

TEST(YcsbVerify, LooksAtAllChunks) {
  expect_all_hold(loaded<EngineStore>(changes(2 * Chunk::kMostRecords))->verify());
  expect_all_hold(loaded<EngineStore>(changes(2 * Chunk::kMostRecords + 1))->verify());
  Parameters large = changes(21);
  large.value_bytes = 1 << 20;  // 4 of these are a chunk
  expect_all_hold(loaded<EngineStore>(large)->verify());
}

TEST(YcsbVerify, AChunkIsBoundedByRecordsAndByBytes) {
  Chunk small, large;
  for (std::size_t i = 1; i < Chunk::kMostRecords; ++i) ASSERT_TRUE(small.add(i, "v"));
  EXPECT_FALSE(small.add(0, "v"));
  EXPECT_TRUE(small.is_full());
  const std::string half(Chunk::kMostBytes / 2, 'v');
  EXPECT_TRUE(large.add(7, half));
  EXPECT_FALSE(large.add(9, half));
  std::vector<std::uint64_t> numbers;
  large.visit([&](std::uint64_t number, std::string_view value) {
    numbers.push_back(number);
    EXPECT_EQ(value, half);
  });
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{7, 9}));
  large.clear();
  EXPECT_FALSE(large.is_full());
  large.visit([](std::uint64_t, std::string_view) { ADD_FAILURE() << "the chunk is empty"; });
}

Parameters mixed_steps() { return {.shares = {{20, 10, 15, 15, 25, 15}}, .keys = 100, .ops = 6, .scan_length = 20}; }

void expect_inserts_counted(const std::vector<Finding>& findings, std::uint64_t loaded_keys) {
  ASSERT_EQ(findings.size(), 2u) << "updates and puts overwrite sums";
  for (const Finding& finding : findings) EXPECT_TRUE(finding.holds) << finding.condition << ": " << finding.detail;
  EXPECT_GT(std::stoull(findings[0].detail), loaded_keys + 100) << findings[0].detail;
}

/// All kinds of operations are in each transaction. What it has inserted is expected to be there.
template <typename Store>
void expect_inserts_hold(const Parameters& parameters) {
  const auto workload = loaded<Store>(parameters);
  auto client = workload->make_client(0).value();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(client->run_one().ending, Ending::kCommitted);
  client = nullptr;
  const std::vector<Finding> findings = workload->verify();
  expect_inserts_counted(findings, parameters.keys);
}

TEST(YcsbVerify, InsertsOfTransactionsOfSeveralOperationsAreThere) {
  Parameters parameters = mixed_steps();
  expect_inserts_hold<EngineStore>(parameters);
  expect_inserts_hold<BareStore>(parameters);
  parameters.multi_get = true;
  expect_inserts_hold<EngineStore>(parameters);
  parameters.multi_get = false;
  parameters.fields = 5;
  expect_inserts_hold<EngineStore>(parameters);
  parameters.parts = true;
  expect_inserts_hold<EngineStore>(parameters);
  parameters.shares = {{40, 10, 15, 15, 20, 0}};
  parameters.hash = true;
  expect_inserts_hold<EngineStore>(parameters);
}

/// Without updates and puts the sum of the counters is that of the read-modify-writes, beside inserts and scans.
TEST(YcsbVerify, ReadModifyWritesBesideInsertsAndScansAreCounted) {
  Parameters parameters = mixed_steps();
  parameters.shares = {{20, 0, 0, 40, 25, 15}};
  const auto workload = loaded<EngineStore>(parameters);
  auto client = workload->make_client(0).value();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(client->run_one().ending, Ending::kCommitted);
  client = nullptr;
  expect_all_hold(workload->verify());
}

/// The transaction is more than its log ring holds, and the keys that it has taken are not expected.
TEST(YcsbVerify, InsertsThatWereGivenUpAreNotMissed) {
  const tests::TemporaryDirectory directory;
  Settings settings = small_settings();
  settings.options.directory = directory.path() + "/database";
  settings.options.ring_bytes = 64 << 10;
  const Parameters parameters{.shares = {{0, 0, 0, 0, 100, 0}}, .keys = 400, .value_bytes = 1000, .ops = 100};
  YcsbWorkload<EngineStore> workload("ycsb", settings, parameters);
  NoProgress progress;
  ASSERT_TRUE(workload.load(1, progress).ok());
  auto client = workload.make_client(0).value();
  EXPECT_EQ(client->run_one().ending, Ending::kGaveUp);
  client = nullptr;
  expect_all_hold(workload.verify());
}

/// The bare store has no transactions: the steps before the insert for which there is no memory have taken effect.
TEST(YcsbVerify, WhatTheBareStoreHasDoneBeforeItFailedCounts) {
  Settings settings = small_settings();
  settings.options.memory_limit_bytes = std::uint64_t{8} << 20;
  const Parameters parameters{.shares = {{0, 0, 0, 50, 50, 0}}, .keys = 100, .value_bytes = 1000, .ops = 16};
  YcsbWorkload<BareStore> workload("kv", settings, parameters);
  NoProgress progress;
  ASSERT_TRUE(workload.load(1, progress).ok());
  auto client = workload.make_client(0).value();
  constexpr int kFailures = 20;
  int failures = 0;
  for (int i = 0; i < 2000 && failures < kFailures; ++i)
    failures += client->run_one().ending == Ending::kGaveUp ? 1 : 0;
  EXPECT_EQ(failures, kFailures);
  client = nullptr;
  expect_all_hold(workload.verify());
}

/// The check expects no more than what committed transactions have inserted.
TEST(YcsbVerify, RecordsThatNoTransactionHasInsertedAreNoticed) {
  const auto workload = loaded<EngineStore>(mixed_steps());
  const auto session = std::move(*workload->store().session(0));
  AbortCounts aborts{};
  ASSERT_EQ(session->insert(KeyBytes(100).view(), std::string(100, 0), aborts), Ending::kCommitted);
  const std::vector<Finding> findings = workload->verify();
  ASSERT_FALSE(findings.empty());
  EXPECT_FALSE(findings[0].holds) << findings[0].detail;
}

TEST(YcsbPuts, OverwriteTheWholeRecordAndReadNothing) {
  const auto workload = loaded<EngineStore>(changes(10));
  const auto session = std::move(*workload->store().session(0));
  AbortCounts aborts{};
  const std::string written(100, 'p');
  const std::array steps{Step{Operation::kPut, KeyBytes(3)}, Step{Operation::kPut, KeyBytes(4)}};
  std::vector<char> buffer(100, 'b');
  const auto change = [&](const Step&) {
    EXPECT_EQ(buffer, std::vector<char>(100, 'b'));
    return std::string_view(written);
  };
  ASSERT_EQ(session->put(KeyBytes(2).view(), written, aborts), Ending::kCommitted);
  ASSERT_EQ(session->run_all(steps, 10, buffer, change, aborts), Ending::kCommitted);
  ASSERT_EQ(session->run_fetched(steps, Portion{10, true, 10}, buffer, change, aborts), Ending::kCommitted);
  for (const std::uint64_t key : {2u, 3u, 4u}) {
    ASSERT_EQ(session->read(KeyBytes(key).view(), buffer, aborts), Ending::kCommitted);
    EXPECT_EQ(std::string(buffer.begin(), buffer.end()), written) << key;
  }
}

/// A store whose transactions read nothing in time.
class SlowStore {
 public:
  class Session : public EngineStore::Session {
   public:
    using EngineStore::Session::KeySession;
    std::unique_ptr<Session> beside(std::uint64_t) { return nullptr; }
    template <typename... Arguments>
    Ending scan(Arguments&&...) {
      return Ending::kTooLong;
    }
    template <typename... Arguments>
    Ending find(Arguments&&...) {
      return Ending::kTooLong;
    }
  };

  static Result<std::unique_ptr<SlowStore>> open(const Settings& settings, const Parameters& parameters) {
    return std::make_unique<SlowStore>(open_fresh(settings.options).value(), parameters.hash);
  }
  SlowStore(std::unique_ptr<Database> database, bool hash)
      : database_(std::move(database)),
        table_(database_->create_table("usertable", {.index = hash ? IndexKind::kHash : IndexKind::kOrdered}).value()) {
  }
  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    auto worker = std::make_shared<Worker>(database_->register_worker().value());
    return std::make_unique<Session>(std::move(worker), table_, base::Random(seed));
  }
  StoreFigures figures() const { return figures_of(*database_); }

 private:
  const std::unique_ptr<Database> database_;
  const Table table_;
};

TEST(YcsbVerify, RecordsThatCannotBeReadAreNotSaidToBeLost) {
  for (const bool hash : {false, true}) {
    Parameters parameters = changes(10);
    parameters.hash = hash;
    const std::vector<Finding> findings = loaded<SlowStore>(parameters)->verify();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_FALSE(findings[0].holds);
    EXPECT_EQ(findings[0].condition, "every record can be read");
    EXPECT_NE(findings[0].detail.find("could not be read"), std::string::npos) << findings[0].detail;
  }
}

/// A value that no log ring holds is no want of memory.
TEST(YcsbLoad, TellsWhyItGaveUp) {
  const tests::TemporaryDirectory directory;
  Settings settings = small_settings();
  settings.options.directory = directory.path() + "/database";
  settings.options.ring_bytes = 64 << 10;
  Parameters large = changes(10);
  large.value_bytes = 200'000;
  YcsbWorkload<EngineStore> workload("ycsb", settings, large);
  NoProgress progress;
  const Status refused = workload.load(1, progress);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_NE(refused.message().find("loading was given up after 0 of 10 keys (log_entry_too_large: "), std::string::npos)
      << refused.message();
}

TEST(YcsbLoad, TellsThatMemoryRanOut) {
  Settings settings = small_settings();
  settings.options.memory_limit_bytes = std::uint64_t{8} << 20;
  Parameters large = changes(100);
  large.value_bytes = 1 << 20;
  YcsbWorkload<EngineStore> engine("ycsb", settings, large);
  YcsbWorkload<BareStore> bare("kv", settings, large);
  NoProgress progress;
  for (Workload* workload : {static_cast<Workload*>(&engine), static_cast<Workload*>(&bare)}) {
    const Status refused = workload->load(1, progress);
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
    EXPECT_NE(refused.message().find("memory ran out while loading after "), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("use fewer --keys"), std::string::npos) << refused.message();
  }
}

/// Each key of a hash index is looked up, which cannot tell whether it is there twice, nor in which order.
TEST(YcsbVerify, SaysOfAHashIndexOnlyThatEveryKeyIsFound) {
  Parameters parameters = changes(10);
  const auto ordered = loaded<EngineStore>(parameters)->verify();
  parameters.hash = true;
  const auto hash = loaded<EngineStore>(parameters)->verify();
  expect_all_hold(ordered);
  expect_all_hold(hash);
  EXPECT_EQ(ordered[0].condition, "every key is there once, in order");
  EXPECT_EQ(hash[0].condition, "every key is found");
}

}  // namespace
}  // namespace granary::bench::ycsb
