// Nodes as processes of their own that are stopped for longer than a lease and an epoch, anywhere in a commit or under
// a lease, and go on.

#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::comes_true;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;
using tests::kKeys;

/// Longer than a lease (0.4 ms) and an epoch (5 ms).
constexpr auto kStop = std::chrono::milliseconds(30);

/// What the processes tell each other.
struct Traffic {
  std::array<std::atomic<std::uint64_t>, kBankNodes + 1> commits{};  ///< by node
  std::array<std::atomic<std::uint64_t>, kBankNodes + 1> epoch{};    ///< of the last one
  std::atomic<bool> all_run{false};
  std::atomic<bool> enough{false};
};

/// Moves money all over until it is enough. Nobody tries for ever: what a stopped node holds stays locked meanwhile.
void move_money(Branch& branch, Traffic& shared) {
  const NodeNumber node = branch.cluster->node();
  for (std::uint64_t turn = node; !shared.enough;) {
    turn = turn * 6364136223846793005u + 1442695040888963407u;
    const RunResult done =
        branch.transfer((turn >> 33) % (kBankNodes * kKeys), (turn >> 20) % (kBankNodes * kKeys), {.max_attempts = 5});
    if (!done.committed()) continue;
    ++shared.commits[node];
    if (done.ticket.epoch != 0) shared.epoch[node] = done.ticket.epoch;
  }
}

/// All have stopped moving money; the last thing that each does.
void count_money(Branch& branch, const CrashChild::Report& report) {
  const bool all = branch.cluster->barrier().ok();
  report(all && branch.total() == std::int64_t{kBankNodes * kKeys} * tests::kMoney ? "money is kept" : "money is lost");
  (void)branch.cluster->barrier();
}

CrashChild::Body mover(const ClusterFile& file, NodeNumber node, Traffic& shared) {
  return [&file, node, &shared](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file, node));
    report("runs");
    move_money(branch, shared);
    count_money(branch, report);
  };
}

class ClusterPause : public testing::Test {
 protected:
  std::uint64_t commits(NodeNumber node) const { return shared_.commits[node]; }
  /// Waits until these nodes have committed something more, after what was under way.
  [[nodiscard]] bool go_on(std::initializer_list<NodeNumber> nodes) const {
    constexpr std::uint64_t kMore = 20;
    for (const NodeNumber node : nodes) {
      const std::uint64_t before = commits(node);
      if (!comes_true([&] { return commits(node) >= before + kMore; })) return false;
    }
    return true;
  }
  void expect_money_kept(std::initializer_list<CrashChild*> children) const {
    shared_.enough = true;
    for (CrashChild* const child : children) {
      EXPECT_EQ(child->wait().exit_code, 0);
      ASSERT_FALSE(child->lines().empty());
      EXPECT_EQ(child->lines().back(), "money is kept");
    }
  }

  const ClusterFile file_{kBankNodes};
  Traffic& shared_ = tests::map_shared<Traffic>();
};

TEST_F(ClusterPause, AnyNodeMayBeStoppedForAWhile) {
  CrashChild first(mover(file_, 1, shared_));  // leads
  CrashChild second(mover(file_, 2, shared_));
  CrashChild third(mover(file_, 3, shared_));
  for (CrashChild* const child : {&first, &second, &third}) ASSERT_TRUE(child->run_until("runs"));
  for (CrashChild* const child : {&first, &second, &third, &first}) {
    ASSERT_TRUE(go_on({1, 2, 3}));
    const std::uint64_t epoch = shared_.epoch[1];
    child->signal(SIGSTOP);
    ASSERT_TRUE(child->wait_until_stopped());
    std::this_thread::sleep_for(kStop);
    child->signal(SIGCONT);
    EXPECT_TRUE(go_on({1, 2, 3}));
    EXPECT_TRUE(comes_true([&] { return shared_.epoch[1] > epoch + 1; })) << "epochs go on, too";
  }
  expect_money_kept({&first, &second, &third});
}

/// Stops itself in the middle of commits that touch the others, at a step more each time; the others go on meanwhile
/// with what it does not hold, and it commits when it goes on.
TEST_F(ClusterPause, InTheMiddleOfACommitOnlyItsOwnRecordsWait) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  static constexpr const char* kPoints[] = {"across.locked", "across.agreed", "across.validated", "across.logged",
                                            "across.installed"};
  CrashChild first(mover(file_, 1, shared_));
  CrashChild third(mover(file_, 3, shared_));
  CrashChild victim([&](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file_, 2));
    report("runs");
    (void)comes_true([&] { return shared_.all_run.load(); });
    for (const std::string point : kPoints) {
      bool stopped = false;
      base::set_sync_hook([&](std::string_view at) {
        if (at != point || std::exchange(stopped, true)) return;
        report("stops at " + point);
        ::raise(SIGSTOP);
      });
      (void)branch.surely_transfer(first_of(2), first_of(3));
      base::set_sync_hook({});
      report("commits after " + point);
    }
    while (!shared_.enough) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    count_money(branch, report);
  });
  for (CrashChild* const child : {&first, &third, &victim}) ASSERT_TRUE(child->run_until("runs"));
  shared_.all_run = true;
  for (const std::string point : kPoints) {
    ASSERT_TRUE(victim.run_until("stops at " + point));
    ASSERT_TRUE(victim.wait_until_stopped());
    std::this_thread::sleep_for(kStop);
    EXPECT_TRUE(go_on({1, 3})) << "while the other is stopped at " << point;
    victim.signal(SIGCONT);
    ASSERT_TRUE(victim.run_until("commits after " + point));
  }
  expect_money_kept({&first, &third, &victim});
}

/// What the reader and the writer tell each other: the two accounts are always equal, and change when the test wants
/// it.
struct EqualAccounts {
  std::atomic<std::uint64_t> round{0};  ///< up to which the reader may read
  std::atomic<std::uint64_t> wanted{0};
  std::atomic<std::uint64_t> written{0};
  std::atomic<bool> enough{false};
};
constexpr std::uint64_t kOne = first_of(3);  ///< at the writer's node
constexpr std::uint64_t kOther = first_of(1);

void write_pairs(Branch& branch, EqualAccounts& pair) {
  while (!pair.enough) {
    if (pair.written == pair.wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    const std::int64_t next = static_cast<std::int64_t>(pair.written) + 1000;
    const bool done = branch.worker
                          ->run([&](Transaction& t) {
                            (void)t.put(branch.accounts, kOne, next);
                            (void)t.put(branch.accounts, kOther, next);
                          })
                          .committed();
    if (done) ++pair.written;
  }
}

/// Reads one account under a lease, is stopped, and then reads the other one, which is not declared. A transaction that
/// counted on its lease after its end would have seen two moments.
void read_pairs(Branch& branch, const EqualAccounts& pair, const CrashChild::Report& report) {
  const EncodedKey<std::uint64_t> key(kOne);
  const std::vector<Declared> keys{{branch.accounts, key, false}};
  for (std::uint64_t round = 1; !pair.enough;) {
    if (pair.round < round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    Transaction t = branch.worker->begin();
    if (t.declare(keys) != Outcome::kOk) continue;
    const auto one = t.get(branch.accounts, kOne);
    report("stops " + std::to_string(round));
    ::raise(SIGSTOP);
    const auto other = t.get(branch.accounts, kOther);
    const bool committed = t.commit().committed();
    if (committed && (!one || !other || *one != *other)) report("saw two moments");
    report((committed ? "commits " : "aborts ") + std::to_string(round));
    report("ends " + std::to_string(round++));
  }
}

TEST(ClusterLease, OfANodeThatWasStoppedIsNotHonouredPastItsEnd) {
  const ClusterFile file(kBankNodes);
  EqualAccounts& pair = tests::map_shared<EqualAccounts>();
  CrashChild idle([&](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file, 1));
    report("runs");
    (void)branch.cluster->barrier();
  });
  CrashChild writer([&](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file, 3));
    report("runs");
    write_pairs(branch, pair);
    (void)branch.cluster->barrier();
  });
  CrashChild reader([&](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file, 2));
    report("runs");
    read_pairs(branch, pair, report);
    (void)branch.cluster->barrier();
  });
  for (CrashChild* const child : {&idle, &writer, &reader}) ASSERT_TRUE(child->run_until("runs"));
  // Where there is no time for a moment, on a busy machine, there are no leases but locks, and nobody can write. Then
  // once more.
  bool overwritten = false;
  while (!overwritten) {
    const std::string number = std::to_string(++pair.round);
    ASSERT_LE(pair.round, 30u) << "a lease that ends lets others write";
    ASSERT_TRUE(reader.run_until("stops " + number));
    ASSERT_TRUE(reader.wait_until_stopped());
    const std::uint64_t wanted = ++pair.wanted;
    const auto written = [&] { return pair.written == wanted; };
    overwritten = comes_true(written, std::chrono::seconds(1));
    reader.signal(SIGCONT);
    ASSERT_TRUE(reader.run_until("ends " + number));
    if (overwritten) {
      EXPECT_THAT(reader.lines(), testing::Contains("aborts " + number));
    }
    ASSERT_TRUE(comes_true(written));
  }
  pair.enough = true;
  for (CrashChild* const child : {&reader, &writer, &idle}) EXPECT_EQ(child->wait().exit_code, 0);
  EXPECT_THAT(reader.lines(), testing::Not(testing::Contains("saw two moments")));
}

}  // namespace
}  // namespace granary
