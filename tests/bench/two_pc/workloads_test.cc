// Workloads on nodes of the baseline: their conditions hold over all nodes afterwards. Speed is not tested.

#include <thread>

#include "bench/smallbank/workload.h"
#include "bench/tatp/workload.h"
#include "bench/tpcc/workload.h"
#include "tests/bench/two_pc/nodes.h"
#include "tests/support/scale.h"
#include "tests/support/shared_database_store.h"

namespace granary::bench::two_pc {
namespace {

class NoProgress final : public Progress {
 public:
  void add(std::uint64_t) override {}
};

constexpr std::uint32_t kNodes = 3, kWorkers = 2;

template <typename Workload, typename Parameters>
class WorkloadOnNodes {
 public:
  explicit WorkloadOnNodes(Parameters parameters) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      parameters.share = {.node = node, .nodes = kNodes, .in_cluster = true};
      nodes_.push_back(std::make_unique<Workload>(parameters, [this, share = parameters.share] {
        return TwoPcStore::open({.directory = directory_ / "run", .share = share});
      }));
      NoProgress progress;
      const Status loaded = nodes_.back()->load(1, progress);
      EXPECT_TRUE(loaded.ok()) << loaded.message();
    }
  }

  void drive(std::uint64_t requests) {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kNodes * kWorkers; ++i) {
      threads.emplace_back([this, requests, &node = *nodes_[i % kNodes], worker = i / kNodes] {
        auto client = node.make_client(worker);
        ASSERT_TRUE(client.ok()) << client.status().message();
        for (std::uint64_t n = 0; n < requests; ++n) EXPECT_NE((*client)->run_one().ending, Ending::kGaveUp);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::string what_is_wrong() {
    std::vector<std::vector<Finding>> findings;
    for (auto& node : nodes_) findings.push_back(node->verify());
    std::string why;
    store::all_hold(findings, why);
    return why;
  }
  double figure(std::string_view name) const {
    for (const ExtraFigure& figure : nodes_[0]->extra_figures()) {
      if (figure.name == name) return figure.value;
    }
    return -1;
  }

 private:
  const tests::TemporaryDirectory directory_;
  std::vector<std::unique_ptr<Workload>> nodes_;
};

TEST(TwoPcWorkloads, SmallBankKeepsItsMoney) {
  smallbank::Parameters parameters;
  parameters.customers = 100 * kNodes;
  parameters.partitions = kNodes;
  parameters.distributed = 0.5;
  WorkloadOnNodes<smallbank::BankWorkload<TwoPcStore>, smallbank::Parameters> bank(parameters);
  EXPECT_EQ(bank.what_is_wrong(), "");
  bank.drive(tests::scaled(300));
  EXPECT_EQ(bank.what_is_wrong(), "");
  EXPECT_GT(bank.figure("distributed_share"), 0.05);
  EXPECT_GE(bank.figure("messages_each"), 1);
  EXPECT_GE(bank.figure("round_trips_each"), 1);
  EXPECT_GT(bank.figure("round_trip_us"), 0);
  EXPECT_GT(bank.figure("ping_us"), 0);
}

TEST(TwoPcWorkloads, TatpIsConsistent) {
  const store::RangeParameters parameters{.keys = 100 * kNodes, .partitions = kNodes, .distributed = 0.5};
  WorkloadOnNodes<tatp::TatpWorkload<TwoPcStore>, store::RangeParameters> subscribers(parameters);
  EXPECT_EQ(subscribers.what_is_wrong(), "");
  subscribers.drive(tests::scaled(300));
  EXPECT_EQ(subscribers.what_is_wrong(), "");
  EXPECT_GT(subscribers.figure("distributed_share"), 0.3);
}

TEST(TwoPcWorkloads, TpccIsConsistent) {
  tpcc::Parameters parameters;
  parameters.scale = {.items = 500, .customers = 120};
  parameters.warehouses = kNodes;
  parameters.workers = kWorkers;
  parameters.remote_line = 0.2;
  parameters.remote_payment = 0.5;
  parameters.mixed_index = true;
  WorkloadOnNodes<tpcc::TpccWorkload<TwoPcStore>, tpcc::Parameters> warehouses(parameters);
  EXPECT_EQ(warehouses.what_is_wrong(), "");
  warehouses.drive(tests::scaled(100));
  EXPECT_EQ(warehouses.what_is_wrong(), "");
}

}  // namespace
}  // namespace granary::bench::two_pc
