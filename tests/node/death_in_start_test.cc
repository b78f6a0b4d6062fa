// While all nodes start together and load what other nodes' logs have of their records, one of them is killed and
// started again. Nobody serves by then, so it starts together with all others, whose start ends and begins anew. Or all
// of them lose power before the last one is let in. Or, on one host, one of them is killed while another one still
// loads. Not covered: deaths beside a node that comes back (third_death_test.cc).

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/node/bank_under_load.h"

namespace granary {
namespace {

using membership::MemberState;
using tests::BankUnderLoad;
using tests::Branch;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kKilled = 3;

/// All nodes have crashed, and in the next start each stands at a point until it is woken.
class DeathInAStart : public BankUnderLoad {
 protected:
  explicit DeathInAStart(std::string point = "start.admitted", bool apart = true)
      : BankUnderLoad({.point = std::move(point), .apart = apart}) {
    is_started_again_ = true;
  }

  void at_point(NodeNumber /*id*/) override {
    ++stands_;
    (void)tests::comes_true([this] { return flags_.woken.load(); });
  }
  void crash_all() {
    ASSERT_NO_FATAL_FAILURE(start_all());
    for (NodeNumber id = 1; id <= kBankNodes; ++id) child(id)->signal(SIGKILL);
    for (NodeNumber id = 1; id <= kBankNodes; ++id) (void)child(id)->wait();
  }
  void start(NodeNumber id) { child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false)); }

  std::atomic<unsigned>& stands_ = tests::map_shared<std::atomic<unsigned>>();
};

TEST_F(DeathInAStart, IsNoReturnToNodesThatStillLoad) {
  ASSERT_NO_FATAL_FAILURE(crash_all());
  flags_.armed = true;
  for (const NodeNumber id : {1, 2, 3}) start(id);
  ASSERT_TRUE(tests::comes_true([this] { return stands_ == kBankNodes; }));
  for (const NodeNumber id : {1, 2, 3}) EXPECT_EQ(member(id).state, MemberState::kReady) << "node " << id;
  child(kKilled)->signal(SIGKILL);
  (void)child(kKilled)->wait();
  flags_.armed = false;
  const membership::Generation before = member(kKilled).generation;
  start(kKilled);
  ASSERT_TRUE(tests::comes_true([&] { return member(kKilled).generation > before; })) << "it has not joined";
  flags_.woken = true;
  // Node 3 has ended, and by then the other one of them may have, too.
  for (const NodeNumber id : {1, 2})
    EXPECT_TRUE(child(id)->run_until_beginning("refused: node ", std::chrono::seconds(30))) << "node " << id;
  for (const NodeNumber id : {1, 2}) {
    (void)child(id)->wait();
    EXPECT_THAT(child(id)->lines(),
                testing::ElementsAre(testing::HasSubstr("has ended before all nodes that started")));
    start(id);
  }
  expect_progress_by_all();
  end_all();
}

/// Two nodes have begun their logs and were let in, and D goes on, when a third one has begun its log and loses it.
class LossInAStart : public DeathInAStart {
 protected:
  LossInAStart() : DeathInAStart("engine.log_begun") { rings_stay_ = false; }

  void at_point(NodeNumber id) override {
    if (id == kKilled) DeathInAStart::at_point(id);
  }
  /// Returns D as the log of a node that runs tells it.
  epoch::Epoch released_by(NodeNumber id) const {
    const auto logs = recovery::scan_logs(base::system_files(), tests::manifest_of(file_, id), {});
    return logs.ok() ? logs->released : 0;  // a log that is being written may seem damaged
  }
};

/// Nothing was released since the nodes ended in order, so nothing is missing (I20).
TEST_F(LossInAStart, OfALogThatWasNotLetInRestrictsNobody) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  end_all();
  flags_.ending = false;
  flags_.ended = 0;
  flags_.armed = true;
  for (const NodeNumber id : {1, 2, 3}) start(id);
  ASSERT_TRUE(tests::comes_true([this] { return stands_ == 1; }));
  const epoch::Epoch begun = tests::manifest_of(file_, kKilled).generations.back().first_epoch;
  EXPECT_TRUE(tests::comes_true([&] { return released_by(1) >= begun; })) << "D stands still";
  for (NodeNumber id = 1; id <= kBankNodes; ++id) child(id)->signal(SIGKILL);
  for (NodeNumber id = 1; id <= kBankNodes; ++id) (void)child(id)->wait();
  std::filesystem::remove_all(folder() / "rings");
  flags_.armed = false;
  for (const NodeNumber id : {1, 2, 3}) start(id);
  expect_progress_by_all();
  end_all();
}

/// On one host, a node still loads its data when another one, whose log has begun, is killed and started again.
class DeathBesideALoad : public DeathInAStart {
 protected:
  DeathBesideALoad() : DeathInAStart("engine.loaded", /*apart=*/false) {}

  CrashChild::Body dies_with_begun_log(NodeNumber id) {
    return [this, id](const CrashChild::Report&) {
      base::set_process_sync_hook(tests::die_at("engine.log_begun"));
      const Branch branch(options(id), /*load=*/false);
    };
  }
};

TEST_F(DeathBesideALoad, IsRecoveredWithoutTheDirectoryThatIsInUse) {
  ASSERT_NO_FATAL_FAILURE(crash_all());
  flags_.armed = true;
  start(kKilled);
  ASSERT_TRUE(tests::comes_true([this] { return stands_ == 1; })) << "it has not recovered the cluster";
  flags_.armed = false;
  child(1) = std::make_unique<CrashChild>(dies_with_begun_log(1));
  ASSERT_TRUE(child(1)->wait().killed);
  const membership::Generation before = member(1).generation;
  start(1);
  EXPECT_TRUE(tests::comes_true([&] {
    const membership::Member now = member(1);
    return (now.generation > before && now.state == MemberState::kReady) || child(1)->ended();
  }));
  EXPECT_FALSE(child(1)->ended());
  flags_.woken = true;
  start(2);
  expect_progress_by_all();
  end_all();
}

}  // namespace
}  // namespace granary
