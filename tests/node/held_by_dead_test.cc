// A node that is killed anywhere in a commit: what the others find locked by it, its rings name, and whether that was
// decided.

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "src/txn/table_core.h"
#include "tests/node/bank.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::CrashChild;
using tests::Death;
using tests::first_of;
using tests::kBankNodes;
using tests::kKeys;

constexpr NodeNumber kDead = 2;

/// kSome: locks. kFree: no locks, though the rings may name some.
enum class Left : std::uint8_t { kSome, kFree, kNothing, kUndecided, kDecided };

/// Where the process ends, and what it leaves.
struct Case {
  Death death;
  Left left = Left::kSome;
  bool declares = false;
};

/// The state word of an account of this node.
record::StateWord state_of(const Branch& branch, std::uint64_t account) {
  const auto found = branch.accounts.core()->index().find(encode_key(account));
  return record::shared_of(*reinterpret_cast<record::Record*>(found.value)).state();
}

class HeldByDead : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }

  /// Reports what it finds locked of its accounts when the victim is dead.
  CrashChild::Body survivor(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      ClusterOptions options = tests::node_options(file_, node);
      options.recovers_others = false;
      Branch branch(options);
      report("runs");
      (void)tests::comes_true([&] { return dead_.load(); });
      for (std::uint64_t account = first_of(node); account < first_of(node) + kKeys; ++account) {
        const record::StateWord state = state_of(branch, account);
        if (record::is_x_locked(state)) report(tests::lock_line(encode_key(account), state));
      }
      ++done_;
      (void)tests::comes_true([&] { return done_ == 2; });  // then the other may end
    };
  }
  /// Moves money from node 1 to node 3, and dies meanwhile.
  CrashChild::Body victim() {
    return [this](const CrashChild::Report& report) {
      Branch branch(tests::node_options(file_, kDead));
      report("runs");
      (void)tests::comes_true([&] { return ready_.load(); });
      base::set_sync_hook(tests::at(GetParam().death, tests::die));
      (void)branch.worker->run([&](Transaction& t) {
        if (GetParam().declares) declare(t, branch.accounts);
        (void)t.put(branch.accounts, first_of(1), 1);
        (void)t.put(branch.accounts, first_of(3), 2);
      });
      tests::die();  // it has not come that far
    };
  }
  static void declare(Transaction& t, const tests::Accounts& accounts) {
    const auto from = encode_key(first_of(1)), to = encode_key(first_of(3));
    const std::vector<Declared> keys = {{accounts, from, true}, {accounts, to, true}};
    (void)t.declare(keys);
  }
  ClusterFile file_{kBankNodes, 2, "", "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  std::atomic<bool>& ready_ = tests::map_shared<std::atomic<bool>>();
  std::atomic<bool>& dead_ = tests::map_shared<std::atomic<bool>>();
  std::atomic<int>& done_ = tests::map_shared<std::atomic<int>>();
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return tests::name_of(info.param.death) + (info.param.declares ? "_declared" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Points, HeldByDead,
    testing::Values(Case{{"x_lock.taken"}}, Case{{"across.locked"}, Left::kUndecided},
                    Case{{"across.validated"}, Left::kUndecided}, Case{{"across.deciding"}, Left::kUndecided},
                    Case{{"across.logged"}, Left::kDecided}, Case{{"across.installed"}, Left::kDecided},
                    Case{{"across.written_back"}, Left::kNothing}, Case{{"across.locked"}, Left::kUndecided, true},
                    Case{{"across.logged"}, Left::kDecided, true}),
    name_of);

/// Between one-sided operations: the CASes, and the WRITEs that write back and free.
INSTANTIATE_TEST_SUITE_P(Operations, HeldByDead,
                         testing::Values(Case{{"shm.operation", 5}, Left::kFree}, Case{{"shm.operation", 6}},
                                         Case{{"shm.operation", 7}}, Case{{"shm.operation", 8}},
                                         Case{{"shm.operation", 10}}, Case{{"shm.operation", 12}},
                                         Case{{"shm.operation", 13}}),
                         name_of);

TEST_P(HeldByDead, IsWhatItsRingsName) {
  CrashChild first(survivor(1));
  CrashChild third(survivor(3));
  CrashChild dying(victim());
  for (CrashChild* const child : {&dying, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  ready_ = true;
  ASSERT_TRUE(dying.wait().killed);
  dead_ = true;
  std::vector<std::string> found;
  for (CrashChild* const child : {&first, &third}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    found.insert(found.end(), child->lines().begin() + 1, child->lines().end());
  }
  const std::map<std::string, bool> named = tests::locks_in_rings(file_, kDead);
  for (const std::string& lock : found) EXPECT_TRUE(named.contains(lock)) << lock << " is locked and not named";
  const auto decided = [](const auto& lock) { return lock.second; };
  switch (GetParam().left) {
    case Left::kSome: EXPECT_FALSE(found.empty()) << "nothing is locked, so nothing was compared"; break;
    case Left::kFree: EXPECT_THAT(found, testing::IsEmpty()); break;
    case Left::kNothing: EXPECT_THAT(named, testing::IsEmpty()); break;
    case Left::kUndecided:
      EXPECT_EQ(found.size(), 2u);
      EXPECT_TRUE(std::none_of(named.begin(), named.end(), decided));
      break;
    case Left::kDecided:
      EXPECT_EQ(found.size(), 2u);
      EXPECT_TRUE(std::all_of(named.begin(), named.end(), decided));
      break;
  }
}

}  // namespace
}  // namespace granary
