// All nodes are restarted under load, one after the other; or a node is killed, and a second process while the first
// one's recovery is under way, at each of its steps: the recoverer, a survivor, or the dead node that comes back; or a
// node that stood still so long that it is taken for dead goes on at one of these steps; or two nodes are killed at
// once. Whoever is left goes on, all come back, and nothing that was released is missing.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/node/bank_under_load.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kFirst = 2;  ///< which is killed first

using Case = tests::BankCase;
std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.point + (info.param.apart ? "_apart" : "") + (info.param.stands ? "_wakes" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

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
  // Nobody comes back before all that is owed was settled, so where each has to do it for itself all are started at
  // once.
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

/// The first one comes back, and stands still when the others are about to ask it where its tables are, until it is
/// dead to them. Before they act in the membership without it, nothing is released.
class StandsOnReturn : public BankUnderLoad {
 protected:
  StandsOnReturn() : BankUnderLoad({.point = "survivor.learns", .stands = true}) {}

  CrashChild::Body node(NodeNumber id, bool load) override {
    return [this, id, body = BankUnderLoad::node(id, load)](const CrashChild::Report& report) {
      if (id == kFirst) process_ = ::getpid();
      body(report);
    };
  }
  void at_point(NodeNumber id) override {
    if (id != kFirst && !flags_.passed.exchange(true)) ::kill(process_, SIGSTOP);
  }

 private:
  std::atomic<pid_t>& process_ = tests::map_shared<std::atomic<pid_t>>();  ///< of the one that comes back
};

TEST_F(StandsOnReturn, HoldsNobodyUp) {
  constexpr NodeNumber kLast = 3;  ///< which needs nothing of it
  ASSERT_NO_FATAL_FAILURE(start_all());
  child(kFirst)->kill();
  ASSERT_TRUE(tests::comes_true([&] { return configuration().owed.empty() && !configuration().lives(kFirst); }));
  flags_.armed = true;
  child(kFirst) = std::make_unique<CrashChild>(node(kFirst, /*load=*/false));
  ASSERT_TRUE(tests::comes_true([&] { return flags_.passed.load(); })) << "nobody asks it";
  ASSERT_TRUE(tests::comes_true([&] { return configuration().owes(kFirst); }));
  const std::uint64_t before = flags_.nodes[kLast].released;
  EXPECT_TRUE(tests::comes_true([&] { return flags_.nodes[kLast].released > before; }, std::chrono::seconds(8)))
      << "nothing is released";
  (void)child(kFirst)->wait();  // killed by the others
  child(kFirst) = std::make_unique<CrashChild>(node(kFirst, /*load=*/false));
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
    ASSERT_EQ(child(id)->lines(), std::vector<std::string>{"money 0, left: "});
    EXPECT_EQ(member(id).state, membership::MemberState::kLeft);
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
