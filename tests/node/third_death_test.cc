// While a node comes back, others are killed at the steps of its start: it goes on as long as one of them serves, and
// else ends before it serves. Not covered: deaths of the node that comes back (second_death_test.cc).

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/node/bank_under_load.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::Branch;
using tests::CrashChild;

constexpr NodeNumber kReturns = 2;  ///< which is killed first, and comes back

/// A node that comes back stands at a point of its start until other nodes have been killed.
class DeathBesideAReturn : public BankUnderLoad {
 protected:
  using BankUnderLoad::BankUnderLoad;

  void at_point(NodeNumber id) override {
    if (id != kReturns || flags_.passed.exchange(true)) return;
    (void)tests::comes_true([this] { return flags_.woken.load(); });
  }
  /// The node is killed, comes back as a process that does `returning`, and goes on once the others are dead, which
  /// serve for `meanwhile` until then.
  void kill_beside(CrashChild::Body returning, const std::vector<NodeNumber>& others,
                   std::chrono::milliseconds meanwhile = {}) {
    ASSERT_NO_FATAL_FAILURE(start_all());
    flags_.armed = true;
    child(kReturns)->signal(SIGKILL);
    (void)child(kReturns)->wait();
    child(kReturns) = std::make_unique<CrashChild>(std::move(returning));
    ASSERT_TRUE(tests::comes_true([&] { return flags_.passed.load(); })) << "it has not come to the point";
    std::this_thread::sleep_for(meanwhile);
    for (const NodeNumber id : others) {
      child(id)->signal(SIGKILL);
      (void)child(id)->wait();
    }
    flags_.woken = true;
  }
  void start(NodeNumber id) { child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false)); }
};

struct Beside {
  std::string point;
  NodeNumber dies = 0;
  bool apart = false;
};
std::string name_of_beside(const testing::TestParamInfo<Beside>& info) {
  std::string name = fmt::format("{}_{}{}", info.param.point, info.param.dies, info.param.apart ? "_apart" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class ThirdDeath : public DeathBesideAReturn, public testing::WithParamInterface<Beside> {
 protected:
  ThirdDeath() : DeathBesideAReturn({.point = GetParam().point, .apart = GetParam().apart}) {}
};

INSTANTIATE_TEST_SUITE_P(Points, ThirdDeath,
                         testing::Values(Beside{"return.loaded", 1}, Beside{"return.loaded", 3},
                                         Beside{"return.met", 3}, Beside{"return.learned", 1},
                                         Beside{"return.ready", 3}, Beside{"return.admitted", 1},
                                         Beside{"return.admitted", 3}, Beside{"return.loaded", 3, true},
                                         Beside{"return.met", 1, true}, Beside{"return.admitted", 3, true}),
                         name_of_beside);

/// Where directories are apart, only the node that died has its log, so a return that has yet to read it waits until
/// that node is back.
TEST_P(ThirdDeath, DoesNotEndAReturnWhileAnotherNodeServes) {
  const Beside& test = GetParam();
  ASSERT_NO_FATAL_FAILURE(kill_beside(node(kReturns, /*load=*/false), {test.dies}));
  const bool waits = test.apart && test.point != "return.admitted";
  if (waits) start(test.dies);
  EXPECT_TRUE(tests::comes_true([this] { return flags_.nodes[kReturns].lives == 2; })) << "it has not come back";
  if (!waits) start(test.dies);
  expect_progress_by_all();
  end_all();
}

class NobodyLeft : public DeathBesideAReturn {
 protected:
  NobodyLeft() : DeathBesideAReturn({.point = "return.learned"}) { rings_stay_ = false; }

  /// Ends as a process that is killed as soon as its start has ended.
  CrashChild::Body returning() {
    return [this](const CrashChild::Report& report) {
      base::set_process_sync_hook([this](std::string_view point) {
        if (flags_.armed && point == case_.point) at_point(kReturns);
      });
      const auto start = [&](Branch& branch) {
        report(branch.cluster->start().message());
        tests::die();
      };
      const Branch branch(options(kReturns), /*load=*/false, start);
    };
  }
};

/// All others are killed and started again beside a node that is about to say that it serves.
class AllStartAgain : public DeathBesideAReturn {
 protected:
  AllStartAgain() : DeathBesideAReturn({.point = "start.noted", .apart = true}) { is_started_again_ = true; }
};

/// The others wait for the node to start together with them, and nobody serves to whom it could come back.
TEST_F(AllStartAgain, EndsAReturnThatIsAboutToServe) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  flags_.armed = true;
  child(kReturns)->signal(SIGKILL);
  (void)child(kReturns)->wait();
  start(kReturns);
  ASSERT_TRUE(tests::comes_true([&] { return flags_.passed.load(); })) << "it has not come to the point";
  flags_.armed = false;
  for (const NodeNumber id : {1, 3}) {
    child(id)->signal(SIGKILL);
    (void)child(id)->wait();
  }
  for (const NodeNumber id : {1, 3}) start(id);
  ASSERT_TRUE(tests::comes_true([this] { return member(1).generation == 2 && member(3).generation == 2; }));
  flags_.woken = true;
  EXPECT_TRUE(child(kReturns)->run_until_beginning(
      "refused: the nodes that served when node 2 came back have all ended since", std::chrono::seconds(30)));
  start(kReturns);
  expect_progress_by_all();
  end_all();
}

/// It would lead, and let itself in with an epoch of its own, behind which the others may have released results.
TEST_F(NobodyLeft, EndsAReturnBeforeItServes) {
  ASSERT_NO_FATAL_FAILURE(kill_beside(returning(), {1, 3}, std::chrono::seconds(1)));
  (void)child(kReturns)->wait();
  const std::vector<std::string> said = child(kReturns)->lines();
  const membership::Member left = member(kReturns);
  std::filesystem::remove_all(folder() / "rings");
  flags_.armed = false;
  for (const NodeNumber id : {1, 2, 3}) start(id);
  expect_progress_by_all();
  end_all();
  // Not before: children that are forked after a failure take it for their own.
  const std::string refusal = "the nodes that served when node 2 came back have all ended since: start it again";
  EXPECT_EQ(said, std::vector<std::string>{refusal});
  EXPECT_EQ(left.generation, 2u);
  EXPECT_NE(left.state, membership::MemberState::kServing);
}

}  // namespace
}  // namespace granary
