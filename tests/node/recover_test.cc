// A node that is killed anywhere in a commit while the others go on: they free what it held, all or nothing of its transaction is there,
// results are released again, and the node comes back alone.

#include <chrono>
#include <string>

#include <fmt/format.h>
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
using tests::kMoney;

constexpr NodeNumber kDead = 2;
constexpr std::int64_t kMoved = 7;

enum class Fate : std::uint8_t { kAny, kUndecided, kDecided };

/// Where the process ends, and what becomes of its transaction.
struct Case {
  Death death;
  Fate fate = Fate::kAny;
  bool apart = false;  ///< the nodes do not see each other's directories
};
std::string name_of(const testing::TestParamInfo<Case>& info) {
  return tests::name_of(info.param.death) + (info.param.apart ? "_apart" : "");
}

/// Accounts of this node that are locked by anybody.
std::size_t locked_accounts(const Branch& branch) {
  std::size_t locked = 0;
  const std::uint64_t first = first_of(branch.cluster->node());
  for (std::uint64_t account = first; account < first + kKeys; ++account) {
    const auto found = branch.accounts.core()->index().find(encode_key(account));
    const auto& record = *reinterpret_cast<record::Record*>(found.value);
    if (record::is_x_locked(record::shared_of(record).state())) ++locked;
  }
  return locked;
}

/// What the nodes of a case share.
struct Flags {
  std::atomic<bool> ready{false}, dead{false}, back{false};
  std::atomic<int> recovered{0}, ended{0};
  std::atomic<int> recoveries{0};  ///< that their nodes tell of with the right figures
};

class Recover : public testing::TestWithParam<Case> {
 protected:
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
  /// Goes on while the other one dies: reports what its accounts 0 have when they are free again, and the sum when that node is back.
  CrashChild::Body survivor(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch(options(node));
      report("runs");
      (void)tests::comes_true([&] { return flags_.dead.load(); });
      report(go_on_without(branch, node));
      (void)tests::comes_true([&] { return flags_.back.load(); });
      report(fmt::format("sum {}", branch.total()));
      end(branch, report);
    };
  }
  std::string go_on_without(Branch& branch, NodeNumber node) {
    if (!tests::comes_true([&] { return locked_accounts(branch) == 0; }, std::chrono::seconds(20))) return "locked";
    std::int64_t value = 0;
    const RunResult read =
        surely(branch, [&](Transaction& t) { value = t.get(branch.accounts, first_of(node)).value(); });
    const Status released = branch.cluster->database().wait_released(read.ticket);
    if (!released.ok()) return released.message();
    const RunResult written = surely(branch, [&](Transaction& t) {
      (void)t.put(branch.accounts, first_of(1) + 1, kMoney);
      (void)t.put(branch.accounts, first_of(3) + 1, kMoney);
    });
    const Status durable = branch.cluster->database().wait_released(written.ticket);
    if (!durable.ok()) return durable.message();
    ++flags_.recovered;
    return fmt::format("moved {}", value - kMoney);
  }
  static RunResult surely(Branch& branch, FunctionRef<void(Transaction&)> body) {
    for (;;) {
      const RunResult done = branch.worker->run(body);
      if (done.committed()) return done;
    }
  }
  void end(Branch& branch, const CrashChild::Report& report) {
    for (const NodeRecovery& one : branch.cluster->recoveries()) flags_.recoveries += is_as_it_should(one) ? 1 : 100;
    ++flags_.ended;
    (void)tests::comes_true([&] { return flags_.ended == 3; });
    branch.worker.reset();
    report("left: " + branch.cluster->leave().message());
  }
  /// One transaction was under way, unless it had just been completed.
  static bool is_as_it_should(const NodeRecovery& one) {
    const bool decided = GetParam().fate == Fate::kDecided;
    const std::uint64_t open = GetParam().death.point == "across.written_back" ? 0 : 1;
    const RecoveryWork& work = one.work;
    const std::uint64_t records = work.freed_records + work.redone_records + work.settled_before;
    return one.node == kDead && one.generation == 1 && one.phase == NodeRecovery::Phase::kRecovered && one.here &&
           work.redone_transactions == (decided ? open : 0u) && work.undone_transactions == (decided ? 0u : open) &&
           (records > 0) == (open > 0) && work.gone_records == 0 && work.waited_us > 0 && work.opened_us > 0 &&
           work.settled_us > 0 && work.adopted_us > 0;
  }
  /// Moves money from node 1 to node 3, and dies meanwhile.
  CrashChild::Body victim() {
    return [this](const CrashChild::Report& report) {
      Branch branch(options(kDead));
      report("runs");
      (void)tests::comes_true([&] { return flags_.ready.load(); });
      base::set_sync_hook(tests::at(GetParam().death, tests::die));
      (void)branch.worker->run([&](Transaction& t) {
        const std::int64_t from = t.get(branch.accounts, first_of(1)).value();
        const std::int64_t own = t.get(branch.accounts, first_of(2)).value();
        const std::int64_t to = t.get(branch.accounts, first_of(3)).value();
        (void)t.put(branch.accounts, first_of(1), from - 2 * kMoved);
        (void)t.put(branch.accounts, first_of(2), own + kMoved);
        (void)t.put(branch.accounts, first_of(3), to + kMoved);
      });
      tests::die();  // it has not come that far
    };
  }
  /// Comes back to the others, which serve, and uses all accounts.
  CrashChild::Body next_life() {
    return [this](const CrashChild::Report& report) {
      Branch branch(options(kDead), /*load=*/false);
      if (testing::Test::HasFailure()) return;
      std::int64_t value = 0;
      (void)surely(branch, [&](Transaction& t) { value = t.get(branch.accounts, first_of(kDead)).value(); });
      report(fmt::format("moved {}", value - kMoney));
      for (std::uint64_t account = 0; account < kBankNodes * kKeys; ++account)
        (void)surely(branch, [&](Transaction& t) {
          (void)t.put(branch.accounts, account, t.get(branch.accounts, account).value());
        });
      flags_.back = true;
      report(fmt::format("sum {}", branch.total()));
      end(branch, report);
    };
  }

  ClusterFile file_{kBankNodes, 2, GetParam().apart ? "directories = \"apart\"\n" : "",
                    "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  Flags& flags_ = tests::map_shared<Flags>();
};

INSTANTIATE_TEST_SUITE_P(
    Points, Recover,
    testing::Values(Case{{"x_lock.taken"}, Fate::kUndecided}, Case{{"across.locked"}, Fate::kUndecided},
                    Case{{"across.validated"}, Fate::kUndecided}, Case{{"across.deciding"}, Fate::kUndecided},
                    Case{{"across.logged"}, Fate::kDecided}, Case{{"across.installed"}, Fate::kDecided},
                    Case{{"shm.half", 0, "across.installed"}, Fate::kDecided},
                    Case{{"shm.operation", 1, "across.installed"}, Fate::kDecided},
                    Case{{"shm.operation", 2, "across.installed"}, Fate::kDecided},
                    Case{{"across.written_back"}, Fate::kDecided}, Case{{"across.locked"}, Fate::kUndecided, true},
                    Case{{"across.logged"}, Fate::kDecided, true},
                    Case{{"shm.operation", 2, "across.installed"}, Fate::kDecided, true}),
    name_of);

TEST_P(Recover, TheOthersGoOnAndItComesBack) {
  CrashChild first(survivor(1));
  CrashChild third(survivor(3));
  CrashChild dying(victim());
  for (CrashChild* const child : {&dying, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  flags_.ready = true;
  ASSERT_TRUE(dying.wait().killed);
  flags_.dead = true;
  // Where nobody else can, the node itself recovers its former life.
  const bool go_on = GetParam().apart || tests::comes_true([&] { return flags_.recovered == 2; });
  ASSERT_TRUE(go_on) << "the survivors do not go on";
  CrashChild back(next_life());
  EXPECT_EQ(back.wait().exit_code, 0);
  for (CrashChild* const child : {&first, &third}) EXPECT_EQ(child->wait().exit_code, 0);
  const std::string all = fmt::format("sum {}", kBankNodes * std::int64_t{kKeys} * kMoney);
  const std::int64_t moved = GetParam().fate == Fate::kDecided ? kMoved : 0;
  EXPECT_EQ(flags_.recoveries, 1) << "one node has recovered the dead one, and tells of it";
  EXPECT_THAT(back.lines(), testing::ElementsAre(fmt::format("moved {}", moved), all, "left: "));
  EXPECT_THAT(first.lines(), testing::ElementsAre("runs", fmt::format("moved {}", -2 * moved), all, "left: "));
  EXPECT_THAT(third.lines(), testing::ElementsAre("runs", fmt::format("moved {}", moved), all, "left: "));
}

}  // namespace
}  // namespace granary
