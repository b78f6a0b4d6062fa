// A cluster whose members meet at ZooKeeper, whose server stops and comes back, and which takes a node for dead that
// stands still, or that alone does not reach the server: who may not commit does not, the others kill it, finish what
// it had decided, and go on, and nothing is half done, as the whole cluster shows when it has been started again.
//
// On a machine that is slow enough any node may lose its session at any time. Such a node has to end as one whose
// session was meant to expire, or is killed like it. But it shows nothing of the nodes that go on, so the case is tried
// again, and fails if that happens each time.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/zookeeper/session.h"
#include "tests/node/bank.h"
#include "tests/cluster_config/membership/lossy_proxy.h"
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
constexpr std::uint64_t kMany = 10 * kAccounts;  ///< transfers that need whatever a dead node may hold
/// The longest that the server grants: a busy machine may take long to start one, and then to connect again.
constexpr std::chrono::milliseconds kSession(4000);

/// What the nodes tell, by node.
struct Shared {
  using Counts = std::array<std::atomic<std::uint64_t>, kBankNodes + 1>;
  Counts commits{};
  Counts refused{};                                      ///< this node may not commit
  Counts unreachable{};                                  ///< another one was needed, and is dead
  std::array<std::atomic<bool>, kBankNodes + 1> lost{};  ///< its membership
  std::atomic<std::uint64_t> ended{0};                   ///< so many move no more money
  std::atomic<std::uint64_t> killed{0};                  ///< and so many were killed by others
  std::atomic<bool> stop{false};                         ///< the victim, in its next commit
  std::atomic<bool> cut{false};                          ///< the network between the victim and the server
  std::atomic<bool> enough{false};
};

class ClusterAtZookeeper : public testing::Test {
 protected:
  void SetUp() override {
    if (zookeeper_server().empty()) GTEST_SKIP() << "there is no ZooKeeper to be had here";
  }
  /// A new cluster, of which nobody has told anything.
  void begin() {
    static int roots = 0;
    root_ = "/test/cluster-" + std::to_string(roots++);
    membership_ = membership_at(zookeeper_server());
    file_.emplace(kBankNodes, 2, membership_, "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
    victims_file_ = victims_server_.empty() ? file_->path() : file_with(membership_at(victims_server_), "victim.toml");
    new (&shared_) Shared();
  }
  /// A section of the cluster file.
  std::string membership_at(const std::string& server) const {
    return "[membership]\nkind = \"zookeeper\"\nservers = [\"" + server + "\"]\nchroot = \"" + root_ +
           "\"\nsession_timeout_ms = " + std::to_string(kSession.count()) + "\n";
  }
  /// The same nodes with the same directories, with another membership; none: the local one.
  std::string file_with(const std::string& membership, const std::string& name) const {
    std::ifstream file(file_->path());
    std::string text{std::istreambuf_iterator<char>(file), {}};
    text.replace(text.find(membership_), membership_.size(), membership);
    const std::string path = (std::filesystem::path(file_->path()).parent_path() / name).string();
    std::ofstream(path) << text;
    return path;
  }

  /// Moves money until it is enough, or the node is no member any more; then tells what it knows of its membership.
  CrashChild::Body mover(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      ClusterOptions options = tests::bank_options(*file_, node);
      if (node == kVictim) options.file = victims_file_;
      Branch branch(options);
      bool may_stop = false;
      base::set_sync_hook([&](std::string_view at) {
        if (may_stop && at == stop_at_ && shared_.stop.exchange(false)) ::raise(SIGSTOP);
      });
      report("runs");
      for (std::uint64_t turn = node; !shared_.enough && branch.cluster->status().ok();) {
        turn = turn * 6364136223846793005u + 1442695040888963407u;
        // From an account of its own, which nobody changes any more when it is lost: so a half that is missing will be
        // missed.
        may_stop = node == kVictim && shared_.stop;
        const std::uint64_t from =
            may_stop ? tests::first_of(kVictim) + (turn >> 33) % tests::kKeys : (turn >> 33) % kAccounts;
        const RunResult done = branch.transfer(from, (from + 1 + (turn >> 20) % (kAccounts - 1)) % kAccounts);
        if (done.committed()) ++shared_.commits[node];
        if (done.reason == AbortReason::kMembershipLost) ++shared_.refused[node];
        if (done.reason == AbortReason::kNodeUnreachable) ++shared_.unreachable[node];
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // leaves the machine to the server
      }
      shared_.lost[node] = !branch.cluster->status().ok();
      ++shared_.ended;
      (void)comes_true([this] { return all_ended(); });
      report(balances(branch));
      report(branch.cluster->status().message());
    };
  }
  bool all_ended() const { return shared_.ended + shared_.killed >= kBankNodes; }
  /// What this node's accounts have, or why that cannot be told: somebody who is dead may hold one of them.
  static std::string balances(Branch& branch) {
    const std::uint64_t first = tests::first_of(branch.cluster->node());
    std::string text;
    const RunResult done = branch.worker->run([&](Transaction& t) {
      text.clear();
      for (std::uint64_t key = first; key < first + tests::kKeys; ++key)
        text += std::to_string(t.get(branch.accounts, key).value_or(-1)) + " ";
    });
    return done.committed() ? text : std::string(name(done.reason));
  }
  /// Adds up the money that was recovered. However long that takes, nobody is lost.
  CrashChild::Body counter(NodeNumber node, const std::string& file) {
    return [this, node, file](const CrashChild::Report& report) {
      ClusterOptions options = tests::bank_options(*file_, node);
      options.file = file;
      Branch branch(options, /*load=*/false);
      report(balances(branch));
      report(std::to_string(branch.total()));
      (void)branch.cluster->barrier();
    };
  }

  /// Between the victim and the server; a process of its own, as who has threads does not fork.
  CrashChild::Body proxy() {
    return [this](const CrashChild::Report& report) {
      membership::tests::LossyProxy proxy(zookeeper_server());
      report(proxy.address());
      report("carries");
      for (;; std::this_thread::sleep_for(std::chrono::milliseconds(10))) proxy.set_cut(shared_.cut);
    };
  }

  /// Waits until each of these nodes has counted so many more, or lost its membership.
  [[nodiscard]] bool grow(const Shared::Counts& counts, std::initializer_list<NodeNumber> nodes,
                          std::uint64_t more = 1) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeNumber node) {
      const std::uint64_t wanted = counts[node] + more;
      return comes_true([&] { return counts[node] >= wanted || is_lost(node); });
    });
  }
  /// Waits until the server has let the node's session expire.
  [[nodiscard]] bool expires(NodeNumber node) const {
    bool expired = false;  // once it has been seen, a server that does not answer at once does not matter
    return comes_true([this, node, &expired] {
      if (expired) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const auto session = membership::Session::open(membership::tests::zookeeper_options());
      if (!session.ok()) return false;
      const auto mark = (*session)->get(root_ + "/members/" + std::to_string(node));
      expired = mark.status().code() == StatusCode::kNotFound;
      return expired;
    });
  }
  /// It is no member any more, and the others may have killed it.
  bool is_lost(NodeNumber node) const { return shared_.lost[node] || nodes_[node]->ended(); }
  std::uint64_t commits() const { return shared_.commits[1] + shared_.commits[2] + shared_.commits[kVictim]; }

  void stop_and_restart_server();
  void expire_session();
  void cut_off_for_a_while();
  void cut_off_until_its_session_expires();
  /// Three nodes move money meanwhile; then the whole cluster is started again. The victim is lost. If another one is
  /// lost as well, the same is tried again with a new cluster, a few times.
  void move_money_while(const std::function<void()>& happens);
  /// Tells how many nodes besides the victim have lost their membership.
  void move_money_once(const std::function<void()>& happens, std::ptrdiff_t& others_lost);
  std::vector<std::string> end_nodes();

  std::string root_;        ///< of this case
  std::string membership_;  ///< of the cluster file
  std::optional<ClusterFile> file_;
  std::string victims_server_;  ///< what the victim takes for the server; empty: it is the server
  std::string victims_file_;
  std::string stop_at_;  ///< where the victim stops in a commit, everything locked
  Shared& shared_ = tests::map_shared<Shared>();
  std::array<std::unique_ptr<CrashChild>, kBankNodes + 1> nodes_;
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

/// By stopping the node. The others count it as dead then, and kill it before they write what it had decided, or free
/// what it held.
void ClusterAtZookeeper::expire_session() {
  CrashChild& victim = *nodes_[kVictim];
  shared_.stop = base::kTestHooks;
  (void)comes_true([this] {
    const bool alone = is_lost(1) && is_lost(2);  // then it commits nothing across nodes
    return !shared_.stop || alone || is_lost(kVictim);
  });
  const bool in_commit = base::kTestHooks && !shared_.stop.exchange(false);
  if (!in_commit) victim.signal(SIGSTOP);
  if (!victim.wait_until_stopped()) return;  // it has lost its session before
  EXPECT_TRUE(expires(kVictim));
  EXPECT_TRUE(grow(shared_.unreachable, {1, 2}));
  const std::uint64_t before = shared_.commits[kVictim];
  EXPECT_TRUE(comes_true([&] {
    if (is_lost(1) && is_lost(2)) victim.signal(SIGCONT);  // nobody is left to kill it, and it finds out by itself
    return is_lost(kVictim);
  }));
  EXPECT_EQ(shared_.commits[kVictim], before);
  EXPECT_TRUE(grow(shared_.commits, {1, 2}, kMany));
}

/// Less than a session: it may pause meanwhile, and goes on.
void ClusterAtZookeeper::cut_off_for_a_while() {
  shared_.cut = true;
  std::this_thread::sleep_for(kSession / 4);
  shared_.cut = false;
  EXPECT_TRUE(grow(shared_.commits, {1, 2, kVictim}));
}

/// It is on its feet all the while, and sees the other nodes.
void ClusterAtZookeeper::cut_off_until_its_session_expires() {
  shared_.cut = true;
  std::this_thread::sleep_for(kSession * 2 / 3);
  EXPECT_TRUE(grow(shared_.refused, {kVictim}));
  const std::uint64_t before = shared_.commits[kVictim];
  EXPECT_TRUE(expires(kVictim));
  EXPECT_TRUE(grow(shared_.unreachable, {1, 2}));
  EXPECT_TRUE(grow(shared_.commits, {1, 2}, kMany));
  EXPECT_EQ(shared_.commits[kVictim], before) << "it does not know who is a member";
  shared_.cut = false;
  EXPECT_TRUE(comes_true([this] { return is_lost(kVictim); })) << "when it hears of it, or by the others";
  EXPECT_EQ(shared_.commits[kVictim], before);
}

/// Returns what each node had at the end; empty of one that was no member by then.
std::vector<std::string> ClusterAtZookeeper::end_nodes() {
  shared_.enough = true;
  (void)comes_true([this] {
    shared_.killed = static_cast<std::uint64_t>(
        std::count_if(nodes_.begin() + 1, nodes_.end(), [](const auto& node) { return node->ended(); }));
    return all_ended();
  });
  std::vector<std::string> had;
  const auto lost = testing::HasSubstr("lost membership at generation 1: ");
  for (NodeNumber id = 1; id <= kBankNodes; ++id) {
    const CrashChild::End end = nodes_[id]->wait();
    const std::vector<std::string>& lines = nodes_[id]->lines();
    had.emplace_back();
    if (end.killed) continue;
    EXPECT_EQ(end.exit_code, 0);
    EXPECT_EQ(lines.size(), 3u);
    if (lines.size() != 3) continue;
    EXPECT_THAT(lines[2], id == kVictim ? testing::Matcher<std::string>(lost) : testing::AnyOf("", lost));
    if (lines[2].empty()) had.back() = lines[1];
  }
  nodes_ = {};
  return had;
}

void ClusterAtZookeeper::move_money_while(const std::function<void()>& happens) {
  constexpr unsigned kTries = 3;
  std::ptrdiff_t others_lost = 1;
  for (unsigned tries = 0; tries < kTries && others_lost != 0; ++tries) {
    SCOPED_TRACE(tries);
    begin();
    move_money_once(happens, others_lost);
    if (HasFailure()) return;
  }
  EXPECT_EQ(others_lost, 0) << "each time nodes have lost their membership that were to go on";
}

void ClusterAtZookeeper::move_money_once(const std::function<void()>& happens, std::ptrdiff_t& others_lost) {
  for (NodeNumber id = 1; id <= kBankNodes; ++id) nodes_[id] = std::make_unique<CrashChild>(mover(id));
  for (NodeNumber id = 1; id <= kBankNodes; ++id) ASSERT_TRUE(nodes_[id]->run_until("runs"));
  ASSERT_TRUE(grow(shared_.commits, {1, 2, kVictim}));
  happens();
  const std::vector<std::string> had = end_nodes();
  others_lost = std::count(had.begin(), had.begin() + kVictim - 1, std::string());
  const std::string file = file_with("", "again.toml");
  CrashChild first(counter(1, file));
  CrashChild second(counter(2, file));
  CrashChild third(counter(kVictim, file));
  std::size_t node = 0;
  for (CrashChild* const child : {&first, &second, &third}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    ASSERT_EQ(child->lines().size(), 2u);
    EXPECT_EQ(child->lines()[1], std::to_string(kAccounts * tests::kMoney));
    if (const std::string& before = had[node++]; !before.empty()) {
      EXPECT_EQ(child->lines()[0], before) << "all that was logged had been done";
    }
  }
}

TEST_F(ClusterAtZookeeper, CommitsOnlyWhileItIsKnownWhoIsAMember) {
  stop_at_ = "across.validated";
  move_money_while([this] {
    stop_and_restart_server();
    expire_session();
  });
}

/// With locks elsewhere and nothing else; and decided, with nothing to be seen of it.
class ClusterStandsStill : public ClusterAtZookeeper, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Points, ClusterStandsStill, testing::Values("across.locked", "across.logged"),
                         [](const auto& point) { return std::string(point.param).substr(7); });

TEST_P(ClusterStandsStill, LongerThanASession) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  stop_at_ = GetParam();
  move_money_while([this] { expire_session(); });
}

TEST_F(ClusterAtZookeeper, OneNodeAloneIsCutOffFromTheServer) {
  CrashChild proxy(this->proxy());
  ASSERT_TRUE(proxy.run_until("carries"));
  victims_server_ = proxy.lines()[0];
  move_money_while([this] {
    cut_off_for_a_while();
    cut_off_until_its_session_expires();
  });
}

}  // namespace
}  // namespace granary
