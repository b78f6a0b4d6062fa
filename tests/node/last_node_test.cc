// The last node of a cluster at ZooKeeper that serves stands still for longer than its session, and the others start
// again meanwhile: they wait for its log, which has what it wrote to records of theirs. With a server of its own.

#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/zookeeper/session.h"
#include "tests/cluster_config/membership/zookeeper_world.h"
#include "tests/node/bank.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using membership::Configuration;
using membership::MemberState;
using membership::tests::zookeeper_server;
using tests::Branch;
using tests::ClusterFile;
using tests::comes_true;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kLast = 1;  ///< which serves alone in the end
constexpr NodeNumber kOther = 2;
constexpr std::string_view kRoot = "/test/last-node";

/// The processes of the case share these words.
struct Shared {
  std::atomic<bool> opened{false};  ///< a node that starts again has opened its database
  std::atomic<unsigned> done{0};    ///< so many have counted the money at the end
};

class LastNode : public testing::Test {
 protected:
  void SetUp() override {
    if (zookeeper_server().empty()) GTEST_SKIP() << "there is no ZooKeeper to be had here";
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
    file_.emplace(kBankNodes, 2,
                  "[membership]\nkind = \"zookeeper\"\nservers = [\"" + zookeeper_server() + "\"]\nchroot = \"" +
                      std::string(kRoot) + "\"\nsession_timeout_ms = 4000\n",
                  "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  }

  /// Runs until the node is no member any more, or is killed. The last node moves money to another one before that.
  CrashChild::Body first_life(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch(tests::bank_options(*file_, node));
      if (node == kLast) {
        const RunResult done = branch.surely_transfer(tests::first_of(kLast), tests::first_of(kOther));
        EXPECT_TRUE(branch.cluster->database().wait_released(done.ticket).ok());
      }
      report("runs");
      (void)comes_true([&] { return !branch.cluster->status().ok(); }, std::chrono::minutes(5));
    };
  }
  /// Adds up the money.
  CrashChild::Body second_life(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      base::set_process_sync_hook([this](std::string_view at) {
        if (at == "engine.log_begun") shared_.opened = true;
      });
      Branch branch(tests::bank_options(*file_, node), /*load=*/false);
      std::int64_t moved = 0;
      EXPECT_TRUE(branch.worker
                      ->run([&](Transaction& t) {
                        moved = t.get(branch.accounts, tests::first_of(kOther)).value_or(0) - tests::kMoney;
                      })
                      .committed());
      report("moved " + std::to_string(moved));
      report("all " + std::to_string(branch.total()));
      ++shared_.done;
      (void)comes_true([this] { return shared_.done == kBankNodes; });
    };
  }
  /// Waits until the configuration at the board is so. A session of its own for each look leaves no thread behind.
  [[nodiscard]] static bool comes_to(const std::function<bool(const Configuration&, bool marked)>& holds) {
    return comes_true([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto session = membership::Session::open(membership::tests::zookeeper_options());
      if (!session.ok()) return false;
      const auto text = (*session)->get(std::string(kRoot) + "/configuration");
      if (!text.ok()) return false;
      const auto mark = (*session)->get(std::string(kRoot) + "/members/" + std::to_string(kLast));
      const auto configuration = membership::configuration_of(text->text);
      return configuration.ok() && holds(*configuration, mark.status().code() != StatusCode::kNotFound);
    });
  }

  std::optional<ClusterFile> file_;
  Shared& shared_ = tests::map_shared<Shared>();
  std::array<std::unique_ptr<CrashChild>, kBankNodes + 1> nodes_;
};

TEST_F(LastNode, IsWaitedForUntilItsLogCounts) {
  for (NodeNumber id = 1; id <= kBankNodes; ++id) nodes_[id] = std::make_unique<CrashChild>(first_life(id));
  for (NodeNumber id = 1; id <= kBankNodes; ++id) ASSERT_TRUE(nodes_[id]->run_until("runs")) << id;
  for (NodeNumber id = kOther; id <= kBankNodes; ++id) nodes_[id]->kill();
  ASSERT_TRUE(comes_to([](const Configuration& found, bool) {
    return found.owed.empty() && !found.lives(2) && !found.lives(3) && found.lives(kLast);
  })) << "the last node recovers the others";
  nodes_[kLast]->signal(SIGSTOP);
  ASSERT_TRUE(comes_to([](const Configuration& found, bool marked) { return found.lives(kLast) && !marked; }));
  for (NodeNumber id = kOther; id <= kBankNodes; ++id) nodes_[id] = std::make_unique<CrashChild>(second_life(id));
  EXPECT_TRUE(comes_to([this](const Configuration& found, bool) { return !found.lives(kLast) || shared_.opened; }));
  EXPECT_FALSE(shared_.opened) << "without what the last node has written";
  nodes_[kLast]->signal(SIGCONT);
  (void)nodes_[kLast]->wait();
  nodes_[kLast] = std::make_unique<CrashChild>(second_life(kLast));
  for (NodeNumber id = 1; id <= kBankNodes; ++id) {
    EXPECT_EQ(nodes_[id]->wait().exit_code, 0) << id;
    EXPECT_EQ(nodes_[id]->lines(),
              (std::vector<std::string>{
                  "moved 1", "all " + std::to_string(std::int64_t{kBankNodes * tests::kKeys} * tests::kMoney)}))
        << id;
  }
}

}  // namespace
}  // namespace granary
