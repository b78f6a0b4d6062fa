// Several open transactions of one worker, each in a fiber: their round trips overlap, and they share the worker's log
// and its TIDs.

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recovery/survey.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/ring_directory.h"

namespace granary::cluster::test {
namespace {

/// A card's: 2.5 us there and back.
constexpr rdma::sim::SimOptions kCard{.least_delay = 1'250, .most_delay = 1'250, .tear = 0, .overtake = 0};

/// Runs one transaction after the other that adds to a record of each of two other nodes, in so many fibers of one
/// worker, and returns what the network's time has moved on by.
std::uint64_t time_of(unsigned fibers) {
  constexpr unsigned kTransactions = 64;
  SimCluster cluster(3, 1, kCard);
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  const auto run = [&](unsigned number) {
    Transaction t = cluster.node(0).worker().begin();
    for (const char node : {'1', '2'}) {
      const std::string key = node + std::to_string(number);
      std::array<char, 32> value{};
      (void)t.get_to_write(tables[0], key, value);
      EXPECT_EQ(t.put(tables[0], key, "value"), Outcome::kOk);
    }
    EXPECT_TRUE(t.commit().committed());
  };
  for (unsigned i = 0; i < kTransactions; ++i) run(i);  // the keys are made, and their places known
  const std::uint64_t begin = cluster.network.now();
  for (unsigned fiber = 0; fiber < fibers; ++fiber) {
    cluster.scheduler.spawn([&, fiber] {
      for (unsigned i = fiber; i < kTransactions; i += fibers) run(i);
    });
  }
  cluster.scheduler.run();
  return cluster.network.now() - begin;
}

TEST(Fibers, RoundTripsOverlap) {
  const std::uint64_t one = time_of(1), two = time_of(2), four = time_of(4);
  EXPECT_LT(two, one * 55 / 100) << one << " ns";
  EXPECT_LT(four, one * 30 / 100) << one << " ns";
}

TEST(Fibers, UseOnlyWhatTheyHaveBegunThemselves) {
  SimCluster cluster(2, 1, kCard);
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  Transaction outside = cluster.node(0).worker().begin();
  EXPECT_EQ(outside.put(tables[0], "1a", "outside"), Outcome::kOk);
  Transaction shared;
  for (const bool first : {true, false}) {
    cluster.scheduler.spawn([&, first] {
      std::string value;
      EXPECT_EQ(outside.get(tables[0], "1a", value), Outcome::kWrongThread);
      EXPECT_EQ(outside.commit().reason, AbortReason::kMisuse);
      if (first) {
        shared = cluster.node(0).worker().begin();
        EXPECT_EQ(shared.get(tables[0], "1b", value), Outcome::kNotFound);  // lets the other one run
        EXPECT_TRUE(shared.commit().committed());
      } else {
        EXPECT_EQ(shared.get(tables[0], "1b", value), Outcome::kWrongThread);
        shared.abort();
      }
    });
  }
  cluster.scheduler.run();
  EXPECT_TRUE(outside.commit().committed());
}

/// A later fiber often gets the address of one that has ended.
TEST(Fibers, UseNothingThatAFiberBeforeThemHasLeft) {
  SimCluster cluster(2, 1, kCard);
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  Transaction left;
  cluster.scheduler.spawn([&] { left = cluster.node(0).worker().begin(); });
  cluster.scheduler.run();
  for (int i = 0; i < 20; ++i) {
    cluster.scheduler.spawn([&] { EXPECT_EQ(left.put(tables[0], "1a", "not its own"), Outcome::kWrongThread); });
    cluster.scheduler.run();
  }
  EXPECT_EQ(left.put(tables[0], "1a", "outside"), Outcome::kOk);
  EXPECT_TRUE(left.commit().committed());
}

/// To end it makes a round trip, in which another fiber may begin, and end what was dropped meanwhile.
TEST(Fibers, WhatWasDroppedIsEndedOnce) {
  SimCluster cluster(3, 2, kCard);
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  const std::array<std::string, 2> keys{"1a", "2a"};
  const auto put_all = [&](std::size_t worker) {
    return cluster.node(0).worker(worker).run([&](Transaction& t) {
      for (const std::string& key : keys) (void)t.put(tables[0], key, "value");
    });
  };
  EXPECT_TRUE(put_all(0));
  const auto aborted = [&] {
    return cluster.node(0).database().statistics().aborts[static_cast<std::size_t>(AbortReason::kUser)];
  };
  const std::uint64_t before = aborted();
  std::array<Transaction, 2> left;
  std::size_t declared = 0, dropped = 0, begun = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    cluster.scheduler.spawn([&, i] {
      left[i] = cluster.node(0).worker().begin();
      const Declared one{tables[0], keys[i], /*write=*/true};
      EXPECT_EQ(left[i].declare({&one, 1}), Outcome::kOk);
      ++declared;
    });
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    cluster.scheduler.spawn([&, i] {
      while (declared < keys.size() || dropped < i) cluster.scheduler.yield();
      left[i] = Transaction();
      ++dropped;
      EXPECT_EQ(begun, 0u) << "while the first one is being ended";
      Transaction t = cluster.node(0).worker().begin();
      ++begun;
      EXPECT_TRUE(t.commit().committed());
    });
  }
  cluster.scheduler.run();
  EXPECT_EQ(aborted() - before, keys.size());
  EXPECT_TRUE(put_all(1)) << "both are free";
}

/// A worker has 16 contexts. Eight fibers have a transaction open each, eight more have committed and are under way,
/// and another one is open outside of the fibers. Whoever begins then waits until one has arrived.
TEST(Fibers, BeginWhileAllContextsAreInUse) {
  SimCluster cluster(2, 1, {.least_delay = 100'000, .most_delay = 100'000, .tear = 0, .overtake = 0});
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  const auto put = [&](unsigned number) {
    Transaction t = cluster.node(0).worker().begin();
    EXPECT_EQ(t.put(tables[0], "1" + std::to_string(number), "value"), Outcome::kOk);
    return t.commit().reason;
  };
  constexpr unsigned kFibers = 8;
  for (unsigned i = 0; i < kFibers; ++i) EXPECT_EQ(put(i), AbortReason::kNone);  // the records are there
  std::array<Transaction, 8> outside;
  for (Transaction& t : outside) t = cluster.node(0).worker().begin();
  for (unsigned fiber = 0; fiber < kFibers; ++fiber) {
    cluster.scheduler.spawn([&, fiber] {
      for (int turn = 0; turn < 20; ++turn) EXPECT_EQ(put(fiber), AbortReason::kNone) << fiber << " in turn " << turn;
    });
  }
  cluster.scheduler.run();
  for (Transaction& t : outside) EXPECT_TRUE(t.commit().committed());
}

/// A transaction that has written to node 1 in a fiber of node 0, and whose commit has just returned.
class UnderWay : public testing::Test {
 protected:
  UnderWay() {
    cluster_.start();
    cluster_.pass_epochs(2);
    EXPECT_TRUE(write("old"));  // outside of fibers, so it is waited for
    EXPECT_TRUE(epochs().idle());
  }
  /// Calls `then` when the commit has returned.
  void commit_and(const std::function<void()>& then) {
    cluster_.scheduler.spawn([&] {
      EXPECT_TRUE(write("new"));
      then();
    });
    cluster_.scheduler.run();
  }
  bool write(std::string_view value) {
    Transaction t = cluster_.node(0).worker().begin();
    EXPECT_EQ(t.put(tables_[0], "1x", value), Outcome::kOk);
    return t.commit().committed();
  }
  std::uint64_t write_back_rounds() {
    return cluster_.node(0).remote().counters().rounds[static_cast<std::size_t>(TripPhase::kWriteBack)].load();
  }
  epoch::EpochManager& epochs() { return cluster_.node(0).database().engine().epochs(); }
  epoch::Epoch told() {
    (void)cluster_.node(0).database().step();
    return cluster_.node(0).control().by_node.oldest.load();
  }

  SimCluster cluster_{2, 1, kCard};
  const std::vector<Table> tables_ =
      cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
};

TEST_F(UnderWay, IsNotWaitedForAndArrives) {
  const std::uint64_t rounds = write_back_rounds();
  commit_and([&] {
    EXPECT_FALSE(epochs().idle()) << "the transaction is still in its epoch";
    EXPECT_EQ(write_back_rounds(), rounds);
    // Others wait for it, as the record is locked until it is there; the next transaction of this worker does not meet
    // a lock.
    EXPECT_TRUE(write("newer"));
  });
  cluster_.node(0).remote().await_arrival();
  EXPECT_TRUE(epochs().idle());
  Transaction t = cluster_.node(1).worker().begin();
  std::string value;
  EXPECT_EQ(t.get(tables_[1], "1x", value), Outcome::kOk);
  EXPECT_EQ(value, "newer");
}

/// I13.
TEST_F(UnderWay, HoldsItsEpoch) {
  commit_and([&] {
    const epoch::Epoch epoch = epochs().current();
    for (std::size_t node : {0, 1}) cluster_.node(node).control().by_leader.epoch.fetch_add(1);
    EXPECT_EQ(told(), epoch);
    cluster_.node(0).remote().await_arrival();
    EXPECT_EQ(told(), epoch + 1);
  });
}

/// It counts as open until it has arrived, and handles know nothing of that.
TEST_F(UnderWay, ItsHandleIsFinished) {
  cluster_.scheduler.spawn([&] {
    Transaction t = cluster_.node(0).worker().begin();
    EXPECT_EQ(t.put(tables_[0], "1x", "new"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
    EXPECT_EQ(t.put(tables_[0], "1x", "late"), Outcome::kFinished);
    EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
    t.abort();
    Transaction next = cluster_.node(0).worker().begin();
    std::string value;
    EXPECT_EQ(next.get(tables_[0], "1x", value), Outcome::kOk);
    EXPECT_EQ(value, "new");
  });
  cluster_.scheduler.run();
}

/// Checks the log of the directory as an opening does after the process has died at this moment.
Status survey(const std::string& directory) {
  base::FileSystem& files = base::system_files();
  auto manifest = recovery::read_manifest(files, directory);
  if (!manifest.ok()) return manifest.status();
  auto settled = recovery::settle(files, *manifest, directory, {});
  if (!settled.ok()) return settled.status();
  return recovery::survey_log(files, *manifest, *settled, {}).status();
}

/// Runs two transactions that each find room, and would not both fit: the second waits until the loggers have taken the
/// first one out. `read_first`: they lock what they read. Returns how many have committed.
unsigned run_two_large(IndexKind kind, bool read_first) {
  const tests::RingDirectory directory;
  const auto with_log = [&](unsigned node) {
    Options options = tests::manual_options();
    options.directory = options.reliable_directory = directory.path() + "/" + std::to_string(node);
    options.ring_bytes = std::uint64_t{64} << 10;
    return options;
  };
  SimCluster cluster(2, 1, kCard, with_log);
  const std::vector<Table> tables = cluster.tables("t", {.max_value_bytes = 8192, .index = kind, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  int reading = 0;
  const auto write = [&](const std::string& name, std::size_t bytes) {
    Transaction t = cluster.node(0).worker().begin();
    const std::string value(bytes, 'v');
    std::string found(bytes, ' ');
    for (const char number : {'0', '1', '2', '3', '4'}) {
      if (read_first) (void)t.get_to_write(tables[0], "1" + name + number, found);
      EXPECT_EQ(t.put(tables[0], "1" + name + number, value), Outcome::kOk);
    }
    (void)t.get(tables[0], "1none", found);  // what is to be validated is a wait of the commit
    for (--reading; reading > 0;) cluster.scheduler.yield();
    return t.commit().committed();
  };
  for (const std::string name : {"a", "b"}) EXPECT_TRUE(write(name, 1));
  unsigned open = 2, committed = 0;
  reading = 2;
  for (const std::string name : {"a", "b"}) {
    cluster.scheduler.spawn([&, name] {
      if (write(name, 8192)) ++committed;
      --open;
    });
  }
  cluster.scheduler.spawn([&] {
    for (unsigned turn = 0; open != 0; ++turn) {
      if (turn % 64 == 63) (void)cluster.node(0).database().step();
      cluster.scheduler.yield();
    }
  });
  cluster.scheduler.run();
  return committed;
}

class FibersThatKeepVersions : public testing::TestWithParam<IndexKind> {};

/// A commit waits last for what it keeps and checks at other nodes. Two transactions that wait there at once must not
/// have taken the same TID before.
TEST_P(FibersThatKeepVersions, TakeTheirTidsBehindTheirLastWait) {
  if (!tests::asked_protocol.in_real_time) GTEST_SKIP() << "TIDs are computed times, which two transactions may share";
  SimCluster cluster(2, 1, kCard);
  const std::vector<Table> tables = cluster.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true});
  cluster.start();
  const std::uint64_t period = tests::manual_options().snapshot_epochs;
  std::vector<std::uint64_t> tids;
  const auto write = [&](const std::string& key) {
    Transaction t = cluster.node(0).worker().begin();
    std::string found;
    (void)t.get(tables[0], key, found);
    EXPECT_EQ(t.put(tables[0], key, "value"), Outcome::kOk);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
    tids.push_back(done.ticket.tid);
  };
  for (const char* const key : {"1a", "1b"}) write(key);
  for (unsigned turn = 0; turn < 3; ++turn) {
    cluster.pass_epochs(2 * period);  // what is there is of an earlier period, so it is kept for snapshots
    for (const char* const key : {"1a", "1b"}) cluster.scheduler.spawn([&, key] { write(key); });
    cluster.scheduler.run();
  }
  std::ranges::sort(tids);
  EXPECT_EQ(std::ranges::adjacent_find(tids), tids.end()) << "two transactions have one TID";
}

/// A time is chosen before the last waits of a commit. So another transaction of the worker that ends meanwhile, in the
/// next epoch, stands before it in the log; a process that dies then leaves rings that are whole.
TEST(FibersOfTicToc, MayLogATimeOfTheEpochBefore) {
  unsigned behind = 0;
  for (unsigned turns = 0; turns < 60; ++turns) {
    const tests::RingDirectory directory;
    const auto with_log = [&](unsigned node) {
      Options options = tests::manual_options();
      options.protocol = "tictoc";
      options.htm = Htm::kOff;
      options.directory = options.reliable_directory = directory.path() + "/" + std::to_string(node);
      return options;
    };
    SimCluster cluster(2, 1, kCard, with_log);
    const std::vector<Table> tables =
        cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
    cluster.start();
    cluster.pass_epochs(2);
    std::vector<Ticket> tickets;  // as the commits have returned
    const auto write = [&](const std::string& key) {
      Transaction t = cluster.node(0).worker().begin();
      std::string found;
      (void)t.get(tables[0], "1none", found);  // what is to be validated is a wait of the commit
      EXPECT_EQ(t.put(tables[0], key, "value"), Outcome::kOk);
      const CommitResult done = t.commit();
      EXPECT_TRUE(done.committed()) << name(done.reason);
      tickets.push_back(done.ticket);
    };
    for (const char* const key : {"1a", "0b"}) write(key);
    tickets.clear();
    cluster.scheduler.spawn([&] { write("1a"); });
    cluster.scheduler.spawn([&] {
      for (unsigned turn = 0; turn < turns; ++turn) cluster.scheduler.yield();
      for (std::size_t node : {0, 1}) cluster.node(node).control().by_leader.epoch.fetch_add(1);
      Transaction t = cluster.node(0).worker().begin();
      EXPECT_EQ(t.put(tables[0], "0b", "value"), Outcome::kOk);
      tickets.push_back(t.commit().ticket);
    });
    cluster.scheduler.run();
    ASSERT_EQ(tickets.size(), 2u);
    if (tickets[0].epoch > tickets[1].epoch) ++behind;
    const auto surveyed = survey(directory.path() + "/0");
    EXPECT_TRUE(surveyed.ok()) << surveyed.message();
  }
  EXPECT_GT(behind, 0u) << "no fiber met the other one's last wait";
}

class FibersWithALog : public testing::TestWithParam<IndexKind> {};

TEST_P(FibersWithALog, FindRoomBehindTheirLastWait) { EXPECT_EQ(run_two_large(GetParam(), false), 2u); }
TEST_P(FibersWithALog, FindRoomForWhatTheyHaveLocked) { EXPECT_EQ(run_two_large(GetParam(), true), 2u); }

INSTANTIATE_TEST_SUITE_P(Kinds, FibersThatKeepVersions, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });
INSTANTIATE_TEST_SUITE_P(Kinds, FibersWithALog, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

}  // namespace
}  // namespace granary::cluster::test
