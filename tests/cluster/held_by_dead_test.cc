// A node that is killed anywhere in a commit: what the others find locked by it, its rings name, and whether that was decided.

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/lock_ahead.h"
#include "recovery/surviving_rings.h"
#include "src/base/file.h"
#include "src/record/shared_record.h"
#include "src/txn/table_core.h"
#include "tests/cluster/bank.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;
using tests::kKeys;

constexpr NodeNumber kVictim = 2;

enum class Left : std::uint8_t { kAny, kNothing, kUndecided, kDecided };

/// Where the process ends, and what it leaves.
struct Death {
  std::string point;
  std::uint64_t nth = 0;
  Left left = Left::kAny;
  bool declares = false;
};

std::string name_of(const Death& death) {
  std::string name = death.point + (death.declares ? "_declared" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  return death.nth == 0 ? name : name + "_" + std::to_string(death.nth);
}

/// The state word of an account of this node.
record::StateWord state_of(const Branch& branch, std::uint64_t account) {
  const auto found = branch.accounts.core()->index().find(encode_key(account));
  return record::shared_of(*reinterpret_cast<record::Record*>(found.value)).state();
}

/// "key=word": as survivors find it, and as the rings name it.
std::string line_of(std::string_view key, record::StateWord word) {
  std::uint64_t account = 0;
  EXPECT_TRUE(decode_key(key, account));
  return fmt::format("{}={:x}", account, word);
}

class HeldByDead : public testing::TestWithParam<Death> {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }

  /// Reports what it finds locked of its accounts when the victim is dead.
  CrashChild::Body survivor(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch(tests::node_options(file_, node));
      report("runs");
      (void)tests::comes_true([&] { return dead_.load(); });
      for (std::uint64_t account = first_of(node); account < first_of(node) + kKeys; ++account) {
        const record::StateWord state = state_of(branch, account);
        if (record::is_x_locked(state)) report(line_of(encode_key(account), state));
      }
      ++done_;
      (void)tests::comes_true([&] { return done_ == 2; });  // then the other may end
    };
  }
  /// Moves money from node 1 to node 3, and dies meanwhile.
  CrashChild::Body victim() {
    return [this](const CrashChild::Report& report) {
      Branch branch(tests::node_options(file_, kVictim));
      report("runs");
      (void)tests::comes_true([&] { return ready_.load(); });
      base::set_sync_hook(tests::die_at(GetParam().point, GetParam().nth));
      (void)branch.worker->run([&](Transaction& t) {
        if (GetParam().declares) declare(t, branch.accounts);
        (void)t.put(branch.accounts, first_of(1), 1);
        (void)t.put(branch.accounts, first_of(3), 2);
      });
      ::kill(::getpid(), SIGKILL);  // it has not come that far
    };
  }
  static void declare(Transaction& t, const tests::Accounts& accounts) {
    const auto from = encode_key(first_of(1)), to = encode_key(first_of(3));
    const std::vector<Declared> keys = {{accounts, from, true}, {accounts, to, true}};
    (void)t.declare(keys);
  }
  /// All that is left of the victim, by what the rings name.
  std::map<std::string, bool> read_rings() {
    const std::string directory = std::filesystem::path(file_.path()).parent_path() / "data/node-2";
    const auto manifest = recovery::read_manifest(base::system_files(), directory);
    EXPECT_TRUE(manifest.ok()) << manifest.status().message();
    const auto rings = recovery::find_rings(*manifest);
    EXPECT_TRUE(rings.ok() && !rings->rings.empty());
    std::map<std::string, bool> named;
    for (const auto& ring : rings->rings) {
      const auto unfinished = recovery::read_lock_ahead(*ring);
      EXPECT_TRUE(unfinished.ok()) << unfinished.status().message();
      for (const recovery::UnfinishedTransaction& one : *unfinished) {
        for (const log::NamedLock& lock : one.locks) {
          EXPECT_EQ(record::holder_of(lock.word).node, kVictim);
          EXPECT_EQ(lock.table, 0u);
          named[line_of(lock.key, lock.word)] = one.tid.has_value();
        }
      }
    }
    return named;
  }

  ClusterFile file_{kBankNodes, 2, "", "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  std::atomic<bool>& ready_ = tests::map_shared<std::atomic<bool>>();
  std::atomic<bool>& dead_ = tests::map_shared<std::atomic<bool>>();
  std::atomic<int>& done_ = tests::map_shared<std::atomic<int>>();
};

INSTANTIATE_TEST_SUITE_P(
    Points, HeldByDead,
    testing::Values(Death{"x_lock.taken"}, Death{"across.locked", 0, Left::kUndecided},
                    Death{"across.validated", 0, Left::kUndecided}, Death{"across.deciding", 0, Left::kUndecided},
                    Death{"across.logged", 0, Left::kDecided}, Death{"across.installed", 0, Left::kDecided},
                    Death{"across.written_back", 0, Left::kNothing}, Death{"across.locked", 0, Left::kUndecided, true},
                    Death{"across.logged", 0, Left::kDecided, true}),
    [](const auto& death) { return name_of(death.param); });

/// Between one-sided operations: the CASes, and the WRITEs that write back and free.
INSTANTIATE_TEST_SUITE_P(Operations, HeldByDead,
                         testing::Values(Death{"shm.operation", 5}, Death{"shm.operation", 8},
                                         Death{"shm.operation", 10}, Death{"shm.operation", 12},
                                         Death{"shm.operation", 13}),
                         [](const auto& death) { return name_of(death.param); });

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
  const std::map<std::string, bool> named = read_rings();
  for (const std::string& lock : found) EXPECT_TRUE(named.contains(lock)) << lock << " is locked and not named";
  const auto decided = [](const auto& lock) { return lock.second; };
  switch (GetParam().left) {
    case Left::kAny: break;
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
