// A node whose worker runs several transactions at once, in fibers (ClusterWorker::run_together), is killed: some are
// decided and on their way to other nodes then, some hold locks, and some wait. Each fiber counts in a lane of its own,
// which is one account of each node, and takes its locks in a way of its own; the workers of the other nodes do so,
// too. The node is recovered and comes back. Then the accounts of a lane agree and show what was counted there; of each
// fiber that was killed, perhaps one more, of which nobody was told. Meanwhile snapshots show lanes that agree, and one
// that was begun before the death stays what it was.
//
// Not here: two deaths, and the directories of nodes that cannot see each other's (recover_test.cc,
// second_death_test.cc).

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/node/counters.h"
#include "tests/node/crash_setting.h"
#include "tests/node/death.h"
#include "tests/node/snapshots.h"
#include "tests/support/crash_child.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary {
namespace {

using tests::Branch;
using tests::CrashChild;
using tests::Death;
using tests::first_of;
using tests::kBankNodes;
using tests::Locking;

constexpr NodeNumber kVictim = 2;
constexpr std::array kLanes{Locking::kAtCommit, Locking::kDeclared, Locking::kByReads, Locking::kAtCommit};

/// The processes of a case share these words.
struct Flags {
  std::atomic<bool> armed{false}, ending{false};
  std::atomic<unsigned> held{0}, ended{0}, looked{0};
  std::array<std::array<std::atomic<std::int64_t>, kLanes.size()>, kBankNodes + 1>
      counted{};  ///< by node, in each lane
};

class FibersCrash : public testing::TestWithParam<Death> {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }

  struct World {
    explicit World(std::uint64_t seed)
        : by_times(seed % 2 != 0),
          index(seed % 4 < 2 ? IndexKind::kHash : IndexKind::kOrdered) {}

    bool by_times;
    IndexKind index;  ///< of the accounts
    tests::ClusterFile file{kBankNodes, 1, tests::kShortSnapshotPeriods,
                            "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
    Flags& flags = tests::map_shared<Flags>();
  };

  static ClusterOptions options(const World& world, NodeNumber node) {
    ClusterOptions options = tests::node_options(world.file, node);
    options.database.ring_bytes = options.database.log_segment_bytes = std::uint64_t{1} << 20;
    options.database.protocol = world.by_times ? "tictoc" : "silo";
    return options;
  }

  /// Counts once in a lane. Tries once.
  static RunResult count(Branch& branch, std::size_t lane) {
    return branch.worker->run(
        [&](Transaction& t) {
          std::vector<EncodedKey<std::uint64_t>> keys;
          for (NodeNumber node = 1; node <= kBankNodes; ++node) keys.emplace_back(first_of(node) + lane);
          tests::lock_early(t, branch.accounts, keys, kLanes[lane]);
          for (NodeNumber node = 1; node <= kBankNodes; ++node) {
            const std::uint64_t account = first_of(node) + lane;
            const auto value = t.get(branch.accounts, account);
            if (!value) return t.abort();
            (void)t.put(branch.accounts, account, *value + 1);
          }
        },
        {.max_attempts = 1});
  }
  static void count_on(Branch& branch, Flags& flags, std::size_t lane) {
    while (!flags.ending) {
      if (count(branch, lane).committed()) ++flags.counted[branch.cluster->node()][lane];
      branch.worker->let_others_run();
    }
  }
  static void look_on(Branch& branch, const Flags& flags) {
    tests::NewSnapshots snapshots(branch);
    while (!flags.ending) {
      (void)snapshots.look();
      branch.worker->let_others_run();
    }
  }
  /// At the end it shows at least what this node has, which has not died.
  static void hold_on(Branch& branch, Flags& flags) {
    tests::HeldSnapshot held(branch);
    ++flags.held;
    while (!flags.ending) {
      (void)held.look_again({});
      branch.worker->let_others_run();
    }
    EXPECT_TRUE(tests::comes_true([&] {
      branch.worker->let_others_run();
      return held.look_again({branch.cluster->node()});
    }));
  }

  /// Counts and looks in fibers until the case ends, or dies at the point. All nodes look at the lanes afterwards.
  static CrashChild::Body node(World& world, NodeNumber id, bool load, const base::SyncHook& hook = {}) {
    return [&world, id, load, hook](const CrashChild::Report& report) {
      Flags& flags = world.flags;
      Branch branch(options(world, id), load, {}, nullptr, world.index);
      if (testing::Test::HasFailure()) return;
      report("runs");
      base::set_sync_hook(hook);
      const bool holds = load && id != kVictim;
      const auto bodies = static_cast<std::uint32_t>(kLanes.size() + 1 + (holds ? 1 : 0));
      const Status ran = branch.worker->run_together(bodies, [&](std::uint32_t body) {
        if (body < kLanes.size()) return count_on(branch, flags, body);
        if (body == kLanes.size()) return look_on(branch, flags);
        hold_on(branch, flags);
      });
      EXPECT_TRUE(ran.ok()) << ran.message();
      ++flags.ended;
      (void)tests::comes_true([&] { return flags.ended == kBankNodes; });
      report(lanes(branch, flags));
      ++flags.looked;
      (void)tests::comes_true([&] { return flags.looked == kBankNodes; });
      branch.worker.reset();
      report("left: " + branch.cluster->leave().message());
    };
  }

  /// "right", or what is wrong with a lane.
  static std::string lanes(Branch& branch, const Flags& flags) {
    std::array<std::array<std::int64_t, kBankNodes>, kLanes.size()> found{};
    const auto read = [&](Transaction& t) {
      for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
        for (NodeNumber home = 1; home <= kBankNodes; ++home)
          found[lane][home - 1] = t.get(branch.accounts, first_of(home) + lane).value_or(-1);
      }
    };
    const RunResult done = branch.worker->run(read, tests::kBounded);
    if (!done.committed()) return "cannot be read: " + std::string(name(done.reason));
    for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
      std::int64_t told = 0;
      for (const auto& of_node : flags.counted) told += of_node[lane];
      const std::int64_t shown = found[lane][0] - tests::kMoney;
      const bool agree = found[lane][1] == found[lane][0] && found[lane][2] == found[lane][0];
      if (!agree || shown < told || shown > told + 1)
        return fmt::format("lane {} shows {}, and {} were told", lane, fmt::join(found[lane], " "), told);
    }
    return "right";
  }

  /// All nodes count in all lanes.
  static void expect_progress(const Flags& flags) {
    std::array<std::array<std::int64_t, kLanes.size()>, kBankNodes + 1> before{};
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      for (std::size_t lane = 0; lane < kLanes.size(); ++lane) before[id][lane] = flags.counted[id][lane];
    }
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
        EXPECT_TRUE(tests::comes_true([&] { return flags.counted[id][lane] > before[id][lane] + 2; }))
            << "node " << id << " does not go on in lane " << lane;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Points, FibersCrash,
                         testing::Values(Death{"old_versions.borrowed"}, Death{"version_copy.linked", 5},
                                         Death{"across.logged", 2}, Death{"across.written_back", 3},
                                         Death{"shm.half", 40}, Death{"shm.operation", 100}),
                         [](const auto& point) { return tests::name_of(point.param); });

TEST_P(FibersCrash, EachTransactionIsThereOrNot) {
  const std::uint64_t first = GetParam().nth;
  for (const std::uint64_t seed : tests::seeds(std::min<std::uint64_t>(tests::scaled(1), 6), first)) {
    SCOPED_TRACE(seed);
    World world(seed);
    Flags& flags = world.flags;
    // A pass of the point counts only while the transaction under test runs.
    const auto hook = [&flags, death = Death{GetParam().point, seed},
                       passed = std::uint64_t{0}](std::string_view point) mutable {
      if (flags.armed && point == death.point && passed++ == death.nth) tests::die();
    };
    CrashChild victim(node(world, kVictim, /*load=*/true, hook));
    CrashChild first_node(node(world, 1, /*load=*/true));
    CrashChild third_node(node(world, 3, /*load=*/true));
    ASSERT_TRUE(tests::comes_true([&] { return flags.held == kBankNodes - 1; }));
    ASSERT_NO_FATAL_FAILURE(expect_progress(flags));
    flags.armed = true;
    ASSERT_TRUE(victim.wait().killed);
    flags.armed = false;
    CrashChild again(node(world, kVictim, /*load=*/false));
    ASSERT_TRUE(again.run_until("runs"));
    expect_progress(flags);
    flags.ending = true;
    for (CrashChild* const child : {&first_node, &again, &third_node}) {
      EXPECT_EQ(child->wait().exit_code, 0);
      EXPECT_EQ(child->lines(), (std::vector<std::string>{"runs", "right", "left: "}));
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace granary
