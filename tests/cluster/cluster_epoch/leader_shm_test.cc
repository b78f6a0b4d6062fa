// Leaders of epochs over shared memory: databases with threads of their own, and nodes in other processes. Not covered:
// transactions across nodes.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <granary/granary.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rdma/shm/shm_fabric.h"
#include "src/base/file.h"
#include "src/db/engine.h"
#include "src/cluster/cluster_epoch/member.h"
#include "tests/cluster/cluster_epoch/leader_thread.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster {
namespace {

using epoch::ControlBlock;
using epoch::Epoch;
using std::chrono::milliseconds;

constexpr std::uint64_t kLeadersPeriod = 1000;  // µs

std::unique_ptr<memory::Region> map() {
  return memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff, .shared = true}).value();
}

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 20'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

/// The doors of a node: what it needs to lead and be led.
struct Doors {
  Doors(rdma::NodeId id, const std::string& directory)
      : fabric(rdma::shm::open_shm_fabric({.node = {.node = id}, .run_directory = directory}).value()),
        address{.node = id, .region = 2, .generation = 1, .offset = 0} {
    EXPECT_TRUE(fabric->register_region({.id = 2}, *control_region).ok());
    EXPECT_TRUE(fabric->register_region({.id = 4, .access = rdma::Access::kLocal}, *buffers).ok());
  }
  ControlBlock& control() const { return *reinterpret_cast<ControlBlock*>(control_region->base()); }

  std::unique_ptr<memory::Region> control_region = map();
  std::unique_ptr<memory::Region> buffers = map();
  std::unique_ptr<rdma::Fabric> fabric;
  rdma::RemoteAddress address;
};

/// A node with a database.
struct Node {
  Node(rdma::NodeId id, const std::string& directory) : doors(id, directory) {
    Options options;
    options.epoch_ms = 4;
    options.huge_pages = HugePages::kOff;
    options.max_open_epochs = 0;
    options.memory_limit_bytes = std::uint64_t{32} << 20;
    database = std::make_unique<Database>(
        db::Engine::open(options, base::system_files(), {.control = &doors.control()}).value());
    table = database->create_table("t").value();
    EXPECT_TRUE(doors.fabric->listen().ok());
    leader = std::make_unique<LeaderThread>(*doors.fabric, doors.buffers->base());
  }
  Epoch e() const { return database->current_epoch(); }

  Doors doors;
  std::unique_ptr<Database> database;
  Table table;
  std::unique_ptr<LeaderThread> leader;
};

class OverShm : public testing::Test {
 protected:
  OverShm() {
    for (rdma::NodeId id = 1; id <= 3; ++id) nodes_.push_back(std::make_unique<Node>(id, directory_.path()));
  }
  ~OverShm() override {
    for (const auto& node : nodes_) {
      if (node != nullptr) node->leader->stop();
    }
  }
  /// All nodes that are left go over to the next configuration, which one of them leads.
  void configure(std::size_t leader, bool durable_goes_on = true) {
    LeaderOptions options{
        .configuration = ++configuration_, .going = {.durable = durable_goes_on}, .period_us = kLeadersPeriod};
    for (const auto& node : nodes_) {
      if (node == nullptr) continue;
      act_in(configuration_, node->doors.control());
      options.members.push_back(node->doors.address);
    }
    nodes_[leader]->leader->lead(options);
  }
  bool all_serve() {
    return eventually([&] {
      bool all = true;
      for (const auto& node : nodes_) all &= node == nullptr || may_serve(node->doors.control());
      return all;
    });
  }
  bool advances(std::size_t node) {
    const Epoch before = nodes_[node]->e();
    return eventually([&] { return nodes_[node]->e() > before + 2; });
  }

  tests::TemporaryDirectory directory_;
  std::vector<std::unique_ptr<Node>> nodes_;
  epoch::Configuration configuration_ = 0;
};

TEST_F(OverShm, DatabasesAdvanceTogetherAndChangeTheirLeader) {
  configure(0);
  ASSERT_TRUE(all_serve());
  std::atomic<bool> stop{false};
  std::atomic<unsigned> apart{0}, ahead{0};
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < nodes_.size(); ++me) {
    threads.emplace_back([&, me] {
      Worker worker = nodes_[me]->database->register_worker().value();
      while (!stop.load(std::memory_order_relaxed)) {
        Transaction transaction = worker.begin();
        const Epoch begun = nodes_[me]->doors.control().by_node.oldest.load();  // no e_w is less
        (void)transaction.put(nodes_[me]->table, "key", "value");
        // One after the other: the second E may be greater by then, but not less than the first by more than 1.
        for (std::size_t other = 0; other < nodes_.size(); ++other) {
          const Epoch here = nodes_[me]->e();
          if (nodes_[other]->e() + 1 < here) apart.fetch_add(1);
        }
        const CommitResult committed = transaction.commit();
        if (committed.committed() && committed.ticket.epoch < begun) ahead.fetch_add(1);
      }
    });
  }
  for (const std::size_t leader : {std::size_t{1}, std::size_t{2}, std::size_t{0}}) {
    EXPECT_TRUE(advances(1));
    configure(leader);  // the former one finds out by itself
  }
  EXPECT_TRUE(advances(2));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(apart.load(), 0u);
  EXPECT_EQ(ahead.load(), 0u);
  EXPECT_TRUE(eventually([&] { return nodes_[1]->leader->last().turn == Turn::kSuperseded; }));
  EXPECT_GT(nodes_[0]->doors.control().by_leader.durable.load(), 0u);
}

TEST_F(OverShm, AnOpenTransactionHoldsAllNodesBackAndIsNamed) {
  configure(0);
  ASSERT_TRUE(all_serve());
  ASSERT_TRUE(advances(0));
  Worker worker = nodes_[2]->database->register_worker().value();
  {
    Transaction open = worker.begin();
    EXPECT_TRUE(eventually([&] {
      const TurnReport last = nodes_[0]->leader->last();
      return last.turn == Turn::kWaiting && last.node == 3;
    }));
    const Epoch held = nodes_[0]->e();
    std::this_thread::sleep_for(milliseconds(40));
    EXPECT_LE(nodes_[0]->e(), held + 1);
    open.abort();
  }
  EXPECT_TRUE(advances(0));
}

TEST_F(OverShm, ADeadNodeStopsTheAdvanceUntilItIsNoMember) {
  configure(0);
  ASSERT_TRUE(all_serve());
  ASSERT_TRUE(advances(0));
  nodes_[1].reset();
  EXPECT_TRUE(eventually([&] { return nodes_[0]->leader->last().turn == Turn::kUnreachable; }));
  const TurnReport last = nodes_[0]->leader->last();
  EXPECT_EQ(last.node, 2u);
  EXPECT_THAT(last.status().message(), testing::HasSubstr("node 2 does not answer"));
  const Epoch stopped = nodes_[0]->e();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(nodes_[0]->e(), stopped);
  configure(2, /*durable_goes_on=*/false);
  EXPECT_TRUE(advances(0));
  EXPECT_LT(nodes_[0]->doors.control().by_leader.durable.load(), stopped) << "its log is not taken over";
}

/// A node without a database: enters epochs and looks at its own E, until told to stop. Exit code 0 if nothing was
/// wrong.
int other_process(rdma::NodeId id, const std::string& directory) {
  const Doors doors(id, directory);
  epoch::EpochManager epochs({.first_epoch = Epoch{5} * id, .control = &doors.control()});
  act_in(1, doors.control());
  if (!doors.fabric->listen().ok()) return 2;
  std::atomic<bool> stop{false}, serves{false};
  std::atomic<int> wrong{0};
  std::thread worker([&] {
    epoch::Slot& slot = *epochs.acquire_slot();
    while (!stop.load(std::memory_order_relaxed) && !serves.load()) std::this_thread::yield();
    while (!stop.load(std::memory_order_relaxed)) {
      const Epoch mine = epochs.enter(slot);
      for (int look = 0; look < 10; ++look) {
        if (epochs.current() > mine + 1) wrong = 1;
        std::this_thread::yield();
      }
      epochs.leave(slot);
    }
  });
  while (::access((directory + "/stop").c_str(), F_OK) != 0) {
    epochs.publish();
    serves = may_serve(doors.control());
    if (serves && epochs.current() < 15) wrong = 3;  // where node 3 began
    std::this_thread::sleep_for(milliseconds(1));
  }
  stop = true;
  worker.join();
  return wrong;
}

TEST(ClusterEpochProcesses, AdvanceTogether) {
  const tests::TemporaryDirectory directory;
  std::vector<pid_t> children;
  for (const rdma::NodeId id : {rdma::NodeId{2}, rdma::NodeId{3}}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(other_process(id, directory.path()));
    children.push_back(child);
  }
  const Doors doors(1, directory.path());
  epoch::EpochManager epochs({.control = &doors.control()});
  act_in(1, doors.control());
  ASSERT_TRUE(doors.fabric->listen().ok());
  LeaderThread leader(*doors.fabric, doors.buffers->base());
  LeaderOptions options{.configuration = 1, .period_us = kLeadersPeriod};
  for (rdma::NodeId id = 1; id <= 3; ++id) {
    options.members.push_back({.node = id, .region = 2, .generation = 1, .offset = 0});
  }
  leader.lead(options);
  EXPECT_TRUE(eventually([&] {
    epochs.publish();
    return epochs.current() > 60;
  })) << leader.last().status().message();
  std::fclose(std::fopen((directory / "stop").c_str(), "w"));
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  leader.stop();
}

}  // namespace
}  // namespace granary::cluster
