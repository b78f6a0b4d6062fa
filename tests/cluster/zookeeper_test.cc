// A cluster whose members meet at ZooKeeper, whose server stops and comes back, and which takes a node for dead that stands still:
// who may not commit does not, the others go on, and nothing is half done, as the whole cluster shows when it has been started again.
//
// On a machine that is slow enough any node may lose its session at any time. So that is no failure: such a node has to end as one whose
// session was meant to expire. That no session is lost without need is for tests/cluster_config/membership/.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/zookeeper/session.h"
#include "tests/cluster/bank.h"
#include "tests/cluster_config/membership/zookeeper_world.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using membership::tests::zookeeper;
using membership::tests::zookeeper_server;
using tests::Branch;
using tests::ClusterFile;
using tests::comes_true;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kVictim = 3;
constexpr std::uint64_t kAccounts = kBankNodes * tests::kKeys;
/// The longest that the server grants: a busy machine may take long to start one, and then to connect again.
constexpr std::chrono::milliseconds kSession(4000);

/// What the nodes tell, by node.
struct Shared {
  using Counts = std::array<std::atomic<std::uint64_t>, kBankNodes + 1>;
  Counts commits{};
  Counts refused{};                                      ///< this node may not commit
  Counts unreachable{};                                  ///< another one was needed, and is dead
  std::array<std::atomic<bool>, kBankNodes + 1> lost{};  ///< its membership
  std::atomic<bool> stop{false};                         ///< the victim, in its next commit
  std::atomic<bool> enough{false};
};

class ClusterAtZookeeper : public testing::Test {
 protected:
  void SetUp() override {
    if (zookeeper_server().empty()) GTEST_SKIP() << "there is no ZooKeeper to be had here";
    membership_ = "[membership]\nkind = \"zookeeper\"\nservers = [\"" + zookeeper_server() + "\"]\nchroot = \"" +
                  kRoot + "\"\nsession_timeout_ms = " + std::to_string(kSession.count()) + "\n";
    file_.emplace(kBankNodes, 2, membership_, "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  }
  /// The same nodes with the same directories, with local membership.
  std::string file_without_zookeeper() const {
    std::ifstream file(file_->path());
    std::string text{std::istreambuf_iterator<char>(file), {}};
    text.erase(text.find(membership_), membership_.size());
    const std::string path = (std::filesystem::path(file_->path()).parent_path() / "again.toml").string();
    std::ofstream(path) << text;
    return path;
  }

  /// Moves money until it is enough, or the node is no member any more; then tells what it knows of its membership.
  CrashChild::Body mover(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch(tests::bank_options(*file_, node));
      if (node == kVictim) base::set_sync_hook([this](std::string_view at) { stop_in_commit(at); });
      report("runs");
      for (std::uint64_t turn = node; !shared_.enough && branch.cluster->status().ok();) {
        turn = turn * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t from = (turn >> 33) % kAccounts;
        const RunResult done = branch.transfer(from, (from + 1 + (turn >> 20) % (kAccounts - 1)) % kAccounts);
        if (done.committed()) ++shared_.commits[node];
        if (done.reason == AbortReason::kMembershipLost) ++shared_.refused[node];
        if (done.reason == AbortReason::kNodeUnreachable) ++shared_.unreachable[node];
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // leaves the machine to the server
      }
      shared_.lost[node] = !branch.cluster->status().ok();
      report(branch.cluster->status().message());
    };
  }
  /// Adds up the money that was recovered. However long that takes, nobody is lost.
  CrashChild::Body counter(NodeNumber node, const std::string& file) {
    return [this, node, file](const CrashChild::Report& report) {
      ClusterOptions options = tests::bank_options(*file_, node);
      options.file = file;
      Branch branch(options, /*load=*/false);
      report(std::to_string(branch.total()));
      (void)branch.cluster->barrier();
    };
  }

  /// Everything is locked, here and elsewhere, and nothing is decided: what is transferred is always written.
  void stop_in_commit(std::string_view at) const {
    if (at == "across.validated" && shared_.stop.exchange(false)) ::raise(SIGSTOP);
  }

  /// Waits until each of these nodes has counted so many more, or lost its membership.
  [[nodiscard]] bool grow(const Shared::Counts& counts, std::initializer_list<NodeNumber> nodes,
                          std::uint64_t more = 1) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeNumber node) {
      const std::uint64_t wanted = counts[node] + more;
      return comes_true([&] { return counts[node] >= wanted || shared_.lost[node]; });
    });
  }
  /// Waits until the server has let the node's session expire.
  [[nodiscard]] static bool expires(NodeNumber node) {
    return comes_true([node] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const auto session = membership::Session::open(membership::tests::zookeeper_options());
      if (!session.ok()) return false;
      const auto mark = (*session)->get(std::string(kRoot) + "/members/" + std::to_string(node));
      return mark.status().code() == StatusCode::kNotFound;
    });
  }
  std::uint64_t commits() const { return shared_.commits[1] + shared_.commits[2] + shared_.commits[kVictim]; }

  void stop_and_restart_server();
  void expire_session(CrashChild& victim);

  static constexpr const char* kRoot = "/test/cluster";
  std::string membership_;  ///< of the cluster file
  std::optional<ClusterFile> file_;
  Shared& shared_ = tests::map_shared<Shared>();
};

void ClusterAtZookeeper::stop_and_restart_server() {
  ASSERT_EQ(zookeeper("stop"), 0);
  std::this_thread::sleep_for(kSession * 2 / 3);
  // What is refused from now on began when no answer of the server was good any more, or ended after the last that did.
  EXPECT_TRUE(grow(shared_.refused, {1, 2, kVictim}));
  const std::uint64_t before = commits();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(commits(), before) << "nobody knows who is a member";
  ASSERT_EQ(zookeeper("start"), 0);
  EXPECT_TRUE(grow(shared_.commits, {1, 2, kVictim})) << "sessions live on";
}

/// By stopping the node, which goes on when others count it as dead. They may meet what it held, and would log what it had half done.
void ClusterAtZookeeper::expire_session(CrashChild& victim) {
  shared_.stop = base::kTestHooks;
  (void)comes_true([this] {
    const bool alone = shared_.lost[1] && shared_.lost[2];  // then it commits nothing across nodes
    return !shared_.stop || alone || shared_.lost[kVictim];
  });
  const bool in_commit = base::kTestHooks && !shared_.stop.exchange(false);
  if (!in_commit) victim.signal(SIGSTOP);
  if (!victim.wait_until_stopped()) return;  // it has lost its session before
  EXPECT_TRUE(expires(kVictim));
  EXPECT_TRUE(grow(shared_.unreachable, {1, 2}));
  const std::uint64_t before = shared_.commits[kVictim];
  victim.signal(SIGCONT);
  EXPECT_TRUE(comes_true([this] { return shared_.lost[kVictim].load(); }));
  EXPECT_LE(shared_.commits[kVictim], in_commit ? before : before + 1) << "but what it had decided on";
  constexpr std::uint64_t kMany = 10 * kAccounts;
  EXPECT_TRUE(grow(shared_.commits, {1, 2}, kMany));
}

TEST_F(ClusterAtZookeeper, CommitsOnlyWhileItIsKnownWhoIsAMember) {
  {
    CrashChild first(mover(1));
    CrashChild second(mover(2));
    CrashChild third(mover(kVictim));
    for (CrashChild* const child : {&first, &second, &third}) ASSERT_TRUE(child->run_until("runs"));
    ASSERT_TRUE(grow(shared_.commits, {1, 2, kVictim}));
    stop_and_restart_server();
    expire_session(third);
    shared_.enough = true;
    for (CrashChild* const child : {&first, &second, &third}) EXPECT_EQ(child->wait().exit_code, 0);
    const auto lost = testing::HasSubstr("lost membership at generation 1: ");
    for (CrashChild* const child : {&first, &second})
      EXPECT_THAT(child->lines(), testing::ElementsAre("runs", testing::AnyOf("", lost)));
    EXPECT_THAT(third.lines(), testing::ElementsAre("runs", lost));
  }
  const std::string file = file_without_zookeeper();
  CrashChild first(counter(1, file));
  CrashChild second(counter(2, file));
  CrashChild third(counter(kVictim, file));
  for (CrashChild* const child : {&first, &second, &third}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    EXPECT_THAT(child->lines(), testing::ElementsAre(std::to_string(kAccounts * tests::kMoney)));
  }
}

}  // namespace
}  // namespace granary
