// What is drawn, and whole runs whose increments are counted.

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "bench/lease/workload.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"
#include "tests/support/shared_database_store.h"

namespace granary::bench::lease {
namespace {

class NoProgress final : public Progress {
 public:
  void add(std::uint64_t) override {}
};

Options options() {
  Options options;
  options.epoch_ms = 2;
  options.max_open_epochs = 1000;  // a descheduled thread is no error here
  options.memory_limit_bytes = std::uint64_t{1} << 28;
  options.huge_pages = HugePages::kOff;
  return options;
}

Parameters small() {
  return {.keys = 60, .partitions = 2, .records = 6, .only_read = 3, .hot_keys = 4, .distributed = 0.4};
}

TEST(LeaseRequests, HaveDifferentRecordsAndAHotOneFirst) {
  const Parameters parameters = small();
  const KeyRanges ranges = parameters.ranges();
  RequestSource source(parameters, 1);
  std::set<std::uint64_t> hot;
  double elsewhere = 0;
  constexpr int kDraws = 10'000;
  for (int i = 0; i < kDraws; ++i) {
    const RecordRequest request = source.next();
    ASSERT_EQ(request.count, 6u);
    std::set<RecordKey> keys;
    for (const Place& place : request.all()) {
      keys.insert(place.key);
      EXPECT_EQ(ranges.part_of(static_cast<std::uint64_t>(place.key)), place.partition);
    }
    EXPECT_EQ(keys.size(), 6u);
    hot.insert(static_cast<std::uint64_t>(request.records[0].key));
    elsewhere += request.records[1].partition != 1 ? 1 : 0;
  }
  EXPECT_EQ(hot, (std::set<std::uint64_t>{0, 1, 30, 31}));
  EXPECT_NEAR(elsewhere / kDraws, 0.4, 0.02);
}

void drive(Workload& workload, std::uint32_t workers) {
  std::vector<std::thread> threads;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      auto client = workload.make_client(worker);
      ASSERT_TRUE(client.ok()) << client.status().message();
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
      while (std::chrono::steady_clock::now() < end) EXPECT_EQ((*client)->run_one().ending, Ending::kCommitted);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <store::Store S>
void run_and_check(const Parameters& parameters, typename LeaseWorkload<S>::OpenStore open) {
  LeaseWorkload<S> workload(parameters, open);
  NoProgress progress;
  ASSERT_TRUE(workload.load(2, progress).ok());
  drive(workload, 3);
  const std::vector<Finding> findings = workload.verify();
  for (const Finding& finding : findings) EXPECT_TRUE(finding.holds) << finding.condition << ": " << finding.detail;
  EXPECT_NE(findings[1].tally->expected, 0u);
}

TEST(LeaseRun, CountsAllIncrements) {
  run_and_check<store::GranaryStore>(small(), [] { return store::GranaryStore::open(options(), false); });
}

TEST(LeaseRun, OnThePartitionedStore) {
  Parameters parameters = small();
  parameters.hash = false;
  run_and_check<store::PartitionedStore>(parameters, [] { return store::PartitionedStore::open(options(), 2); });
}

TEST(LeaseRun, NodesCountTogether) {
  using S = store::SharedDatabaseStore;
  const std::shared_ptr<store::GranaryStore> all = std::move(*store::GranaryStore::open(options(), false));
  std::vector<std::unique_ptr<LeaseWorkload<S>>> nodes;
  NoProgress progress;
  for (const std::uint32_t node : {0u, 1u}) {
    Parameters parameters = small();
    parameters.share = {.node = node, .nodes = 2, .in_cluster = true};
    nodes.push_back(std::make_unique<LeaseWorkload<S>>(
        parameters, [=]() -> Result<std::unique_ptr<S>> { return std::make_unique<S>(all, node); }));
    ASSERT_TRUE(nodes.back()->load(1, progress).ok());
  }
  for (auto& node : nodes) drive(*node, 2);
  std::string why;
  EXPECT_TRUE(store::all_hold({nodes[0]->verify(), nodes[1]->verify()}, why)) << why;
  EXPECT_NE(nodes[0]->verify()[1].tally->expected, nodes[0]->verify()[1].tally->found) << "increments went elsewhere";
}

}  // namespace
}  // namespace granary::bench::lease
