// Transactions across nodes allocate nothing once their memory is warm, neither at the node that runs them nor in the
// thread of the owner that answers: SmallBank's transfers, TPC-C's orders, and what goes by message (lookups in ordered
// tables, scans, new keys, removals); also while old versions are kept for snapshots, and with two transactions of a
// worker open at once. Not covered: procedures that are called at another node, and keys of more than 15 bytes, whose
// removal the owner notes.

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/node/local_cluster.h"
#include "tests/support/allocations.h"

namespace granary {
namespace {

constexpr std::uint64_t kKeysEach = 32;  ///< of each node
constexpr unsigned kTwoNodes = 2;
constexpr std::uint64_t kTurns = 300;
/// Memory is warm when so many turns have allocated nothing. Garbage waits in lists that grow as long as E stands
/// still, which it does on a busy machine, so there may be several rounds until then.
constexpr std::uint64_t kMostRounds = 20;
/// So many are kept in four epochs or more, since a key has at most one of each epoch. Meanwhile the other node has
/// been asked for memory for its own.
constexpr std::uint64_t kVersionsOfARound = 4 * kKeysEach;

struct Row {
  std::uint64_t amount = 1;
  std::array<char, 56> filling = {};  ///< more than a std::string holds without memory of its own
};
using Rows = TypedTable<std::uint64_t, Row>;
/// One transaction of node 1. Node 2 has the keys from kKeysEach on.
using Work = std::function<void(Transaction&, const Rows&, std::uint64_t turn)>;

NodeNumber home_of_number(std::string_view key) {
  std::uint64_t number = 0;
  (void)decode_key(key, number);
  return number < kKeysEach ? 1 : 2;
}

struct Counted {
  std::uint64_t at_caller = 0, at_owner = 0;
  bool operator==(const Counted&) const = default;
  Counted& operator+=(const Counted& more) {
    at_caller += more.at_caller;
    at_owner += more.at_owner;
    return *this;
  }
};
std::ostream& operator<<(std::ostream& out, const Counted& counted) {
  return out << counted.at_caller << " at the caller, " << counted.at_owner << " at the owner";
}

/// Those of the service's thread that has answered last, up to its answer. In these tests only node 2 is asked about
/// data.
std::atomic<std::uint64_t> owners_allocations{0};

/// The node 1 of a test, which runs its transactions.
struct Caller {
  ClusterWorker& worker;
  const Rows& table;
  Database& database;
  std::uint64_t least_versions;  ///< that each round of turns has to keep here
};

/// Runs rounds of turns until one has allocated nothing, and returns the allocations of the last one.
Counted allocations_of_last_round(const Caller& caller, const std::function<void(std::uint64_t turn)>& turn) {
  const auto versions = [&] { return caller.database.statistics().versions_created; };
  Counted counted;
  std::uint64_t next = 0;
  for (std::uint64_t round = 0; round < kMostRounds; ++round) {
    counted = {};
    const std::uint64_t wanted = versions() + caller.least_versions;
    do {
      const Counted before = {tests::allocations, owners_allocations};
      for (std::uint64_t i = 0; i < kTurns; ++i) turn(next++);
      counted += {tests::allocations - before.at_caller, owners_allocations - before.at_owner};
    } while (versions() < wanted);
    if (counted == Counted()) break;
  }
  return counted;
}

using Driver = std::function<Counted(const Caller&)>;
enum class OldVersions { kNone, kKept };

/// Returns what the driver has counted on node 1 of two.
Counted allocations_of(IndexKind index, const Driver& driver, OldVersions old_versions = OldVersions::kNone) {
  const bool kept = old_versions == OldVersions::kKept;
  base::set_process_sync_hook([](std::string_view point) {
    if (point == "service.answered") owners_allocations = tests::allocations;
  });
  const tests::ClusterFile file(kTwoNodes, 1);
  Counted counted;
  tests::on_each_node(
      file, kTwoNodes,
      [&](Cluster& cluster) {
        const Rows table =
            cluster.create_table<std::uint64_t, Row>("t", {.index = index}, Placement{home_of_number}).value();
        ASSERT_TRUE(cluster.start().ok());
        const std::unique_ptr<ClusterWorker> worker = cluster.register_worker().value();
        for (std::uint64_t i = 0; i < kKeysEach; ++i) {
          const std::uint64_t key = (cluster.node() - 1) * kKeysEach + i;
          ASSERT_TRUE(worker->run([&](Transaction& t) { (void)t.put(table, key, Row{}); }).committed());
        }
        ASSERT_TRUE(cluster.barrier().ok());
        const std::uint64_t versions = cluster.database().statistics().versions_created;
        if (cluster.node() == 1) counted = driver({*worker, table, cluster.database(), kept ? kVersionsOfARound : 0});
        ASSERT_TRUE(cluster.barrier().ok());
        EXPECT_EQ(cluster.database().statistics().versions_created > versions, kept) << "node " << cluster.node();
      },
      [&](ClusterOptions& options) {
        options.database.snapshots = kept;
        options.database.snapshot_epochs = 1;
        // On a busy machine a process may stand still in the middle of a transaction for longer than the default
        // allows.
        options.database.max_open_epochs = 0;
      });
  base::set_process_sync_hook({});
  return counted;
}

/// Of transactions of node 1, behind others of the same kind.
Counted allocations_of_transactions(IndexKind index, const Work& work, OldVersions old_versions = OldVersions::kNone) {
  const auto one_after_the_other = [&](const Caller& caller) {
    return allocations_of_last_round(caller, [&](std::uint64_t turn) {
      ASSERT_TRUE(caller.worker.run([&](Transaction& t) { work(t, caller.table, turn); }).committed());
    });
  };
  return allocations_of(index, one_after_the_other, old_versions);
}

/// Of transactions of node 1 in two fibers of its worker, which work on different keys. Each lets the other one go on
/// before it commits, so that both are open.
Counted allocations_in_fibers(IndexKind index, const Work& work, OldVersions old_versions = OldVersions::kNone) {
  unsigned open = 0, most_open = 0;
  const auto in_two_fibers = [&](const Caller& caller) {
    Counted counted;
    bool over = false;
    const auto run = [&](std::uint64_t turn) {
      ++open;
      const RunResult ran = caller.worker.run([&](Transaction& t) {
        work(t, caller.table, turn);
        caller.worker.let_others_run();
        most_open = std::max(most_open, open);
      });
      EXPECT_TRUE(ran.committed());
      --open;
    };
    const Status ended = caller.worker.run_together(2, [&](std::uint32_t body) {
      if (body == 0) {
        counted = allocations_of_last_round(caller, [&](std::uint64_t turn) { run(2 * turn); });
        over = true;
      }
      for (std::uint64_t turn = 0; !over; ++turn) run(2 * turn + 1);
    });
    EXPECT_TRUE(ended.ok()) << ended.message();
    return counted;
  };
  const Counted counted = allocations_of(index, in_two_fibers, old_versions);
  EXPECT_EQ(most_open, 2u);
  return counted;
}

void move_one(Transaction& t, const Rows& table, std::uint64_t turn) {
  const std::uint64_t from = turn % kKeysEach, to = kKeysEach + turn % kKeysEach;
  const auto source = t.get(table, from), target = t.get(table, to);
  if (!source || !target) return;
  (void)t.put(table, from, Row{source->amount - 1});
  (void)t.put(table, to, Row{target->amount + 1});
}

void order_ten(Transaction& t, const Rows& table, std::uint64_t turn) {
  (void)t.put(table, turn % kKeysEach, Row{turn});
  for (std::uint64_t line = 0; line < 10; ++line) {
    const std::uint64_t stock = kKeysEach + (turn + line) % kKeysEach;
    const auto quantity = t.get(table, stock);
    if (quantity) (void)t.put(table, stock, Row{quantity->amount + 1});
  }
}

/// Of tables of both kinds: one-sided and by message.
class Allocations : public testing::TestWithParam<IndexKind> {
 protected:
  void SetUp() override {
    if (!tests::kCountsAllocations || !base::kTestHooks) GTEST_SKIP() << "a sanitizer allocates, or no sync points";
  }
};
INSTANTIATE_TEST_SUITE_P(Indexes, Allocations, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& index) { return index.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Allocations, NoneOfATransfer) { EXPECT_EQ(allocations_of_transactions(GetParam(), move_one), Counted()); }

TEST_P(Allocations, NoneOfADeclaredTransfer) {
  const auto declared = [](Transaction& t, const Rows& table, std::uint64_t turn) {
    const auto from = encode_key<std::uint64_t>(turn % kKeysEach);
    const auto to = encode_key<std::uint64_t>(kKeysEach + turn % kKeysEach);
    const std::array<Declared, 2> keys = {Declared{table, from, true}, Declared{table, to, true}};
    if (t.declare(keys) == Outcome::kOk) move_one(t, table, turn);
  };
  EXPECT_EQ(allocations_of_transactions(GetParam(), declared), Counted());
}

TEST_P(Allocations, NoneOfAnOrderWithTenLinesElsewhere) {
  EXPECT_EQ(allocations_of_transactions(GetParam(), order_ten), Counted());
}

TEST_P(Allocations, NoneOfWhatKeepsOldVersions) {
  EXPECT_EQ(allocations_of_transactions(GetParam(), move_one, OldVersions::kKept), Counted());
  EXPECT_EQ(allocations_of_transactions(GetParam(), order_ten, OldVersions::kKept), Counted());
}

TEST_P(Allocations, NoneOfTransfersInFibers) {
  EXPECT_EQ(allocations_in_fibers(GetParam(), move_one), Counted());
  EXPECT_EQ(allocations_in_fibers(GetParam(), move_one, OldVersions::kKept), Counted());
}

TEST_P(Allocations, NoneOfGetsTogetherElsewhere) {
  const auto get = [](Transaction& t, const Rows& table, std::uint64_t turn) {
    std::array<std::array<char, sizeof(Row)>, 2> buffers;
    const auto one = encode_key<std::uint64_t>(kKeysEach + turn % kKeysEach);
    const auto other = encode_key<std::uint64_t>(kKeysEach + (turn + 1) % kKeysEach);
    std::array<MultiGet, 2> gets = {MultiGet{table, one, buffers[0], {}}, MultiGet{table, other, buffers[1], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  };
  EXPECT_EQ(allocations_of_transactions(GetParam(), get), Counted());
}

TEST_P(Allocations, NoneOfPutsTogetherHereAndElsewhere) {
  const auto put = [](Transaction& t, const Rows& table, std::uint64_t turn) {
    const Row row{turn};
    const std::string_view bytes(reinterpret_cast<const char*>(&row), sizeof row);
    const auto here = encode_key<std::uint64_t>(turn % kKeysEach);
    const auto there = encode_key<std::uint64_t>(kKeysEach + turn % kKeysEach);
    std::array<MultiPut, 2> puts = {MultiPut{table, here, bytes}, MultiPut{table, there, bytes}};
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
  };
  EXPECT_EQ(allocations_of_transactions(GetParam(), put), Counted());
}

TEST_P(Allocations, NoneOfKeysThatComeAndGoElsewhere) {
  const auto replace = [](Transaction& t, const Rows& table, std::uint64_t turn) {
    EXPECT_EQ(t.insert(table, 2 * kKeysEach + turn, Row{turn}), Outcome::kOk);
    if (turn != 0) {
      EXPECT_EQ(t.remove(table, 2 * kKeysEach + turn - 1), Outcome::kOk);
    }
  };
  EXPECT_EQ(allocations_of_transactions(GetParam(), replace), Counted());
}

TEST(AllocationsOf, NoneOfAScanElsewhere) {
  const auto sum = [](Transaction& t, const Rows& table, std::uint64_t turn) {
    (void)t.put(table, kKeysEach, Row{turn});
    std::uint64_t all = 0;
    const auto add = [&](std::uint64_t, const Row& row) { return all += row.amount, true; };
    EXPECT_EQ(t.scan(table, kKeysEach, 2 * kKeysEach, add).count, kKeysEach);
    EXPECT_EQ(all, kKeysEach - 1 + turn);
  };
  EXPECT_EQ(allocations_of_transactions(IndexKind::kOrdered, sum), Counted());
}

}  // namespace
}  // namespace granary
