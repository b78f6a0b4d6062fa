// All nodes are restarted under load, one after the other; or a node is killed, and a second process while the first one's recovery is
// under way, at each of its steps: the recoverer, a survivor, or the dead node that comes back; or a node that stood still so long that it
// is taken for dead goes on at one of these steps; or two nodes are killed at once. Whoever is left goes on, all come back, and nothing that
// was released is missing.

#include <sys/types.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;
using tests::kKeys;
using tests::kMoney;

constexpr NodeNumber kFirst = 2;                ///< which is killed first
constexpr std::uint64_t kAccounts = kKeys - 1;  ///< of a node; its last key counts what another node has committed

/// Where the second one dies, and how the nodes are.
struct Case {
  std::string point;
  bool apart = false;   ///< the nodes do not see each other's directories
  bool stands = false;  ///< the first one is stopped instead of killed, and is woken at the point, where nobody dies
};
std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.point + (info.param.apart ? "_apart" : "") + (info.param.stands ? "_wakes" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// What the processes of a case share; they only know what was acknowledged.
struct Flags {
  std::atomic<bool> armed{false}, passed{false}, woken{false}, ending{false};
  std::atomic<unsigned> ended{0};
  std::atomic<NodeNumber> second{0};  ///< who came to the point
  std::atomic<NodeNumber> leaves{0};  ///< who is to end in order
  struct Node {
    std::atomic<std::uint64_t> lives{0};      ///< that have served
    std::atomic<std::uint64_t> committed{0};  ///< transactions of this node with others' records
    std::atomic<std::uint64_t> alone{0};      ///< and with its own alone
    std::atomic<std::uint64_t> released{0};   ///< the counter's value in the last one that was released
  };
  std::array<Node, kBankNodes + 1> nodes;
};

/// Three nodes that move money between them, and count what they have done at another one.
class BankUnderLoad : public testing::Test {
 protected:
  explicit BankUnderLoad(Case test) : case_(std::move(test)) {}
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }

  ClusterOptions options(NodeNumber node) const {
    ClusterOptions options = tests::node_options(file_, node);
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
    options.database.ring_bytes = kSmall;
    options.database.log_segment_bytes = kSmall;
    return options;
  }
  static std::uint64_t counter_of(NodeNumber node) { return first_of(node % kBankNodes + 1) + kAccounts; }

  CrashChild::Body node(NodeNumber id, bool load) {
    return [this, id, load](const CrashChild::Report& report) {
      base::set_process_sync_hook([this, id](std::string_view point) {
        if (flags_.armed && point == case_.point) at_point(id);
      });
      Branch branch(options(id), load);
      if (testing::Test::HasFailure()) return;
      ++flags_.nodes[id].lives;
      const std::int64_t money = work(branch, id);
      branch.worker.reset();
      report(fmt::format("money {}, left: {}", money, branch.cluster->leave().message()));
    };
  }
  /// Dies if nobody has come to the point before; or stands there until the node that stood still goes on, and for a moment more.
  virtual void at_point(NodeNumber id) {
    const bool first = !flags_.passed.exchange(true);
    if (first) flags_.second = id;
    if (first && !case_.stands) tests::die();
    if (!case_.stands || flags_.woken) return;
    (void)tests::comes_true([this] { return flags_.woken.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  /// Moves money and counts, until the case ends. Returns all money that it finds then.
  std::int64_t work(Branch& branch, NodeNumber id) {
    std::mt19937_64 random(id);
    std::int64_t count = -1;
    std::optional<std::pair<Ticket, std::int64_t>> waiting;  ///< for release, of a transaction and what it had counted
    while (!flags_.ending && flags_.leaves != id && branch.cluster->status().ok()) {
      const RunResult alone = branch.worker->run(
          [&](Transaction& t) { touch(branch, t, first_of(id) + random() % kAccounts); }, {.max_attempts = 1});
      if (alone.committed()) ++flags_.nodes[id].alone;
      const RunResult done =
          branch.worker->run([&](Transaction& t) { step(branch, t, random, id, count); }, {.max_attempts = 1});
      if (!done.committed()) continue;
      ++flags_.nodes[id].committed;
      if (!waiting) waiting = {done.ticket, count};
      constexpr std::uint64_t kAtOnce_us = 1;
      if (!branch.cluster->database().wait_released(waiting->first, kAtOnce_us).ok()) continue;
      flags_.nodes[id].released = static_cast<std::uint64_t>(waiting->second);
      waiting.reset();
    }
    if (!branch.cluster->status().ok() || flags_.leaves == id) return 0;
    std::int64_t sum = 0;
    const auto add_up = [&](Transaction& t) {
      sum = 0;
      for (NodeNumber home = 1; home <= kBankNodes; ++home) {
        for (std::uint64_t i = 0; i < kAccounts; ++i) sum += t.get(branch.accounts, first_of(home) + i).value_or(0);
      }
    };
    while (!branch.worker->run(add_up).committed()) {
    }
    count = 0;
    while (!branch.worker->run([&](Transaction& t) { count = t.get(branch.accounts, counter_of(id)).value_or(0); })
                .committed()) {
    }
    EXPECT_GE(count, static_cast<std::int64_t>(flags_.nodes[id].released)) << "something that was released is missing";
    ++flags_.ended;
    (void)tests::comes_true([&] { return flags_.ended == kBankNodes; });
    return testing::Test::HasFailure() ? -1 : sum;
  }
  static void touch(Branch& branch, Transaction& t, std::uint64_t account) {
    if (const auto money = t.get(branch.accounts, account)) (void)t.put(branch.accounts, account, *money);
  }
  static void step(Branch& branch, Transaction& t, std::mt19937_64& random, NodeNumber id, std::int64_t& count) {
    const NodeNumber to_node = random() % kBankNodes + 1;
    const std::uint64_t from = first_of(random() % kBankNodes + 1) + random() % kAccounts;
    const std::uint64_t to = first_of(to_node) + random() % kAccounts;
    const auto source = t.get(branch.accounts, from);
    const auto target = t.get(branch.accounts, to);
    const auto counted = t.get(branch.accounts, counter_of(id));
    if (!source || !target || !counted) return;
    if (from != to) {
      (void)t.put(branch.accounts, from, *source - 1);
      (void)t.put(branch.accounts, to, *target + 1);
    }
    count = *counted + 1;
    (void)t.put(branch.accounts, counter_of(id), count);
  }

  std::unique_ptr<CrashChild>& child(NodeNumber id) { return children_[id]; }
  void start_all() {
    for (NodeNumber id = 1; id <= kBankNodes; ++id) child(id) = std::make_unique<CrashChild>(node(id, /*load=*/true));
    ASSERT_TRUE(tests::comes_true([&] {
      return std::ranges::all_of(std::array{1, 2, 3}, [&](int id) { return flags_.nodes[id].released > 20; });
    }));
  }
  /// All come to the same sum, and leave in order.
  void end_all() {
    flags_.ending = true;
    const std::string all =
        fmt::format("money {}, left: ", std::int64_t{kBankNodes} * std::int64_t{kAccounts} * kMoney);
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      EXPECT_EQ(child(id)->wait().exit_code, 0) << "node " << id;
      EXPECT_EQ(child(id)->lines(), std::vector<std::string>{all}) << "node " << id;
    }
  }
  void expect_progress_by_all() {
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      const std::uint64_t before = flags_.nodes[id].committed;
      EXPECT_TRUE(tests::comes_true([&] { return flags_.nodes[id].committed > before + 10; }, std::chrono::seconds(20)))
          << "node " << id << " commits nothing";
      const std::uint64_t released = flags_.nodes[id].released;
      EXPECT_TRUE(tests::comes_true([&] { return flags_.nodes[id].released > released; }, std::chrono::seconds(20)))
          << "nothing of node " << id << " is released";
    }
  }

  const Case case_;
  ClusterFile file_{kBankNodes, 2,
                    std::string(case_.apart ? "directories = \"apart\"\n" : "") +
                        (case_.stands ? "[membership]\nsession_timeout_ms = 1000\n" : ""),
                    "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  Flags& flags_ = tests::map_shared<Flags>();
  std::array<std::unique_ptr<CrashChild>, kBankNodes + 1> children_;
};

class SecondDeath : public BankUnderLoad, public testing::WithParamInterface<Case> {
 protected:
  SecondDeath() : BankUnderLoad(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Points, SecondDeath,
                         testing::Values(Case{"survivor.begins"}, Case{"survivor.cut"}, Case{"survivor.quiet"},
                                         Case{"recovery.begins"}, Case{"recovery.claimed"}, Case{"recovery.opened"},
                                         Case{"recovery.settled"}, Case{"recovery.adopted"}, Case{"recovery.done"},
                                         Case{"return.quiet"}, Case{"engine.log_begun"}, Case{"return.loaded"},
                                         Case{"return.ready"}, Case{"return.admitted"}, Case{"visit.began", true},
                                         Case{"recovery.settled", true}, Case{"recovery.done", true},
                                         Case{"return.loaded", true}, Case{"survivor.quiet", true}),
                         name_of);
/// Over shared memory a node is killed when it is cut off. After that it has nothing to wake for.
INSTANTIATE_TEST_SUITE_P(Zombies, SecondDeath,
                         testing::Values(Case{"survivor.begins", false, true}, Case{"survivor.cut", false, true},
                                         Case{"survivor.quiet", false, true}, Case{"recovery.begins", false, true},
                                         Case{"recovery.claimed", false, true}, Case{"recovery.opened", false, true},
                                         Case{"recovery.settled", false, true}, Case{"recovery.adopted", false, true},
                                         Case{"recovery.done", false, true}),
                         name_of);

TEST_P(SecondDeath, LeavesNothingMissing) {
  const Case& test = GetParam();
  ASSERT_NO_FATAL_FAILURE(start_all());
  flags_.armed = true;
  child(kFirst)->signal(test.stands ? SIGSTOP : SIGKILL);
  const bool by_itself = test.point.starts_with("survivor.") || (test.point.starts_with("recovery.") && !test.apart);
  std::vector<NodeNumber> dead{kFirst};
  if (by_itself) {
    ASSERT_TRUE(tests::comes_true([&] { return flags_.passed.load(); })) << "nobody came to the point";
    if (test.stands) child(kFirst)->signal(SIGCONT);
    flags_.woken = true;
    if (!test.stands) dead.push_back(flags_.second);
  } else {
    child(kFirst) = std::make_unique<CrashChild>(node(kFirst, /*load=*/false));
    ASSERT_TRUE(tests::comes_true([&] { return flags_.passed.load(); })) << "nobody came to the point";
    dead.back() = flags_.second;
  }
  for (const NodeNumber id : dead) {
    SCOPED_TRACE(id);
    (void)child(id)->wait();  // who was stopped ends by itself, or is killed by the others
  }
  // Nobody comes back before all that is owed was settled, so where each has to do it for itself all are started at once.
  for (const NodeNumber id : dead) child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false));
  expect_progress_by_all();
  end_all();
}

/// Two of three nodes are killed at the same time.
struct Pair {
  NodeNumber one = 0, other = 0;
  bool apart = false;
  bool one_waits = false;  ///< on its way back, until the other one serves
};
std::string name_of_pair(const testing::TestParamInfo<Pair>& info) {
  const Pair& pair = info.param;
  return fmt::format("{}_and_{}{}{}", pair.one, pair.other, pair.apart ? "_apart" : "", pair.one_waits ? "_waits" : "");
}

class TwoDeaths : public BankUnderLoad, public testing::WithParamInterface<Pair> {
 protected:
  TwoDeaths() : BankUnderLoad({.point = "return.loaded", .apart = GetParam().apart}) {}

  void at_point(NodeNumber id) override {
    if (!GetParam().one_waits || id != GetParam().one) return;
    (void)tests::comes_true([this] { return flags_.nodes[GetParam().other].lives == 2; });
  }
};

INSTANTIATE_TEST_SUITE_P(Pairs, TwoDeaths,
                         testing::Values(Pair{2, 3}, Pair{1, 2}, Pair{1, 3, true}, Pair{2, 3, false, true},
                                         Pair{2, 3, true, true}),
                         name_of_pair);

TEST_P(TwoDeaths, AtOnceLeaveNothingMissing) {
  const Pair& pair = GetParam();
  ASSERT_NO_FATAL_FAILURE(start_all());
  flags_.armed = true;
  for (const NodeNumber id : {pair.one, pair.other}) child(id)->signal(SIGKILL);
  for (const NodeNumber id : {pair.one, pair.other}) (void)child(id)->wait();
  const NodeNumber left = kBankNodes * (kBankNodes + 1) / 2 - pair.one - pair.other;
  const std::uint64_t before = flags_.nodes[left].alone;
  EXPECT_TRUE(tests::comes_true([&] { return flags_.nodes[left].alone > before + 100; }, std::chrono::seconds(20)))
      << "node " << left << " stands still";
  for (const NodeNumber id : {pair.one, pair.other}) child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false));
  expect_progress_by_all();
  end_all();
}

class RollingRestart : public BankUnderLoad {
 protected:
  RollingRestart() : BankUnderLoad({}) {}
};

/// A release is rolled out so: each node ends in order and comes back, while the others go on with what is theirs.
TEST_F(RollingRestart, OfAllNodesLetsTheOthersGoOn) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  for (const NodeNumber id : {1, 2, 3}) {
    SCOPED_TRACE(id);
    flags_.leaves = id;
    EXPECT_EQ(child(id)->wait().exit_code, 0);
    flags_.leaves = 0;
    for (const NodeNumber other : {1, 2, 3}) {
      const std::uint64_t before = flags_.nodes[other].alone;
      const auto goes_on = [&] { return other == id || flags_.nodes[other].alone > before + 100; };
      EXPECT_TRUE(tests::comes_true(goes_on, std::chrono::seconds(10))) << "node " << other << " stands still";
    }
    child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false));
    expect_progress_by_all();
  }
  end_all();
}

}  // namespace
}  // namespace granary
