// Transactions across simulated nodes, step by step: what they see, what they conflict with, and what they cost.

#include <gtest/gtest.h>

#include "tests/dist/transaction/sim_cluster.h"

namespace granary::dist::test {
namespace {

std::string value_of(Transaction& t, const Table& table, std::string_view key) {
  std::string value;
  const granary::Outcome got = t.get(table, key, value);
  if (got == granary::Outcome::kOk) return value;
  return got == granary::Outcome::kNotFound ? "(none)" : "(" + std::string(name(got)) + ")";
}

/// Keys "0…" are node 0's, and so on.
class AcrossNodes : public testing::TestWithParam<IndexKind> {
 protected:
  AcrossNodes() : tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    for (const std::string key : {"0x", "1x", "1y", "2x"}) {
      commit(home_of(key),
             [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, "old"), Outcome::kOk); });
    }
  }

  using Outcome = granary::Outcome;
  using Body = FunctionRef<void(Transaction&, const Table&)>;

  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  const Table& table(std::size_t node) const { return tables_[node]; }
  Ticket commit(std::size_t node, Body body) {
    Transaction t = begin(node);
    body(t, table(node));
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
    return done.ticket;
  }
  std::string at(std::size_t node, std::string_view key) {
    std::string value;
    commit(node, [&](Transaction& t, const Table& table) { value = value_of(t, table, key); });
    return value;
  }

  SimCluster cluster_{3};
  const std::vector<Table> tables_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, AcrossNodes, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(AcrossNodes, ReadsAndWritesRecordsOfOthers) {
  const Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.update(table, "2x", "newer"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "0x", "mine"), Outcome::kOk);
    EXPECT_EQ(value_of(t, table, "1x"), "new") << "its own write";
  });
  EXPECT_NE(ticket.tid, 0u);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(at(node, "1x"), "new") << node;
    EXPECT_EQ(at(node, "2x"), "newer") << node;
    EXPECT_EQ(at(node, "0x"), "mine") << node;
  }
}

TEST_P(AcrossNodes, NothingIsSeenOfWhatAborts) {
  {
    Transaction t = begin(0);
    EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.insert(table(0), "2new", "new"), Outcome::kOk);
  }
  EXPECT_EQ(at(1, "1x"), "old");
  EXPECT_EQ(at(2, "2new"), "(none)");
}

TEST_P(AcrossNodes, InsertsAndRemovesThere) {
  commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(t.insert(table, "1new", "born"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "1x", "again"), Outcome::kAlreadyExists);
    EXPECT_EQ(t.put(table, "2new", "put"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1y"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2none"), Outcome::kNotFound);
    EXPECT_EQ(t.update(table, "2none", ""), Outcome::kNotFound);
    EXPECT_EQ(value_of(t, table, "1y"), "(none)");
    EXPECT_EQ(value_of(t, table, "1new"), "born");
  });
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(at(node, "1new"), "born") << node;
    EXPECT_EQ(at(node, "2new"), "put") << node;
    EXPECT_EQ(at(node, "1y"), "(none)") << node;
  }
  commit(2, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.insert(table, "1y", "back"), Outcome::kOk); });
  EXPECT_EQ(at(1, "1y"), "back");
}

TEST_P(AcrossNodes, WhatIsWrittenAndTakenBackIsNoWrite) {
  const Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1new", "put"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1new"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "2new", "inserted"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2new"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2new"), Outcome::kNotFound);
    EXPECT_EQ(value_of(t, table, "1new"), "(none)");
  });
  EXPECT_EQ(ticket.tid, 0u) << "it only read";
  commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1x", "put"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "1y", "put"), Outcome::kAlreadyExists);
    EXPECT_EQ(t.remove(table, "1y"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "1y", "again"), Outcome::kOk);
  });
  EXPECT_EQ(at(1, "1x"), "(none)");
  EXPECT_EQ(at(2, "1y"), "again");
}

TEST_P(AcrossNodes, ALostUpdateIsNoticed) {
  for (const std::size_t other : {1u, 2u}) {  // the owner, and another node
    Transaction one = begin(0);
    Transaction two = begin(other);
    (void)value_of(one, table(0), "1x");
    (void)value_of(two, table(other), "1x");
    EXPECT_EQ(one.put(table(0), "1x", "one"), Outcome::kOk);
    EXPECT_EQ(two.put(table(other), "1x", "two"), Outcome::kOk);
    EXPECT_TRUE(one.commit().committed());
    EXPECT_EQ(two.commit().reason, AbortReason::kReadChanged);
    EXPECT_EQ(at(1, "1x"), "one");
  }
}

TEST_P(AcrossNodes, AReadThatChangedIsNoticedByAReader) {
  for (const std::size_t writer : {1u, 2u}) {
    Transaction reader = begin(0);
    (void)value_of(reader, table(0), "1x");
    commit(writer, [&](Transaction& t, const Table& table) {
      EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
      EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
    });
    (void)value_of(reader, table(0), "2x");
    EXPECT_EQ(reader.commit().reason, AbortReason::kReadChanged);
  }
}

TEST_P(AcrossNodes, WriteSkewIsNoticed) {
  Transaction one = begin(0);
  Transaction two = begin(1);
  (void)value_of(one, table(0), "1x");
  (void)value_of(one, table(0), "2x");
  (void)value_of(two, table(1), "1x");
  (void)value_of(two, table(1), "2x");
  EXPECT_EQ(one.put(table(0), "1x", "one"), Outcome::kOk);
  EXPECT_EQ(two.put(table(1), "2x", "two"), Outcome::kOk);
  EXPECT_TRUE(one.commit().committed());
  EXPECT_EQ(two.commit().reason, AbortReason::kReadChanged);
}

TEST_P(AcrossNodes, AKeyThatAppearsWhereOneWasMissedIsAPhantom) {
  for (const std::size_t writer : {1u, 2u}) {
    const std::string key = "1new" + std::to_string(writer);
    Transaction reader = begin(0);
    EXPECT_EQ(value_of(reader, table(0), key), "(none)");
    EXPECT_EQ(reader.put(table(0), "2x", "relies on it"), Outcome::kOk);
    commit(writer, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.insert(table, key, "new"), Outcome::kOk); });
    EXPECT_EQ(reader.commit().reason, AbortReason::kNodeChanged);
  }
}

TEST_P(AcrossNodes, OnlyOneOfTwoInsertsOfAKeySucceeds) {
  Transaction one = begin(0);
  Transaction two = begin(2);
  EXPECT_EQ(one.insert(table(0), "1new", "one"), Outcome::kOk);
  EXPECT_EQ(two.insert(table(2), "1new", "two"), Outcome::kOk);
  EXPECT_TRUE(one.commit().committed());
  EXPECT_FALSE(two.commit().committed());
  EXPECT_EQ(at(1, "1new"), "one");
}

TEST_P(AcrossNodes, ManyGetsTravelTogether) {
  std::array<std::array<char, 32>, 4> buffers;
  Transaction t = begin(0);
  std::array<MultiGet, 4> gets = {MultiGet{table(0), "1x", buffers[0], {}}, MultiGet{table(0), "0x", buffers[1], {}},
                                  MultiGet{table(0), "2none", buffers[2], {}},
                                  MultiGet{table(0), "2x", buffers[3], {}}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(gets[0].result.outcome, Outcome::kOk);
  EXPECT_EQ(std::string_view(buffers[0].data(), gets[0].result.size), "old");
  EXPECT_EQ(gets[1].result.outcome, Outcome::kOk);
  EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
  EXPECT_EQ(gets[3].result.outcome, Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
}

TEST_P(AcrossNodes, ADeadNodeIsAnError) {
  Transaction open = begin(0);
  (void)value_of(open, table(0), "1x");
  EXPECT_EQ(open.put(table(0), "1x", "new"), Outcome::kOk);
  EXPECT_EQ(open.put(table(0), "0x", "new"), Outcome::kOk);
  cluster_.node(1).crash();
  EXPECT_EQ(open.commit().reason, AbortReason::kNodeUnreachable);
  Transaction later = begin(0);
  EXPECT_EQ(value_of(later, table(0), "1y"), "(aborted)");
  EXPECT_EQ(later.commit().reason, AbortReason::kNodeUnreachable);
  EXPECT_EQ(at(0, "0x"), "old");
  EXPECT_EQ(at(0, "2x"), "old") << "the others go on";
}

TEST_P(AcrossNodes, OldVersionsSurviveAWriteBack) {
  cluster_.pass_epochs(9);
  Snapshot snapshot = cluster_.node(1).worker().snapshot();
  commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk); });
  std::string value;
  EXPECT_EQ(snapshot.get(table(1), "1x", value), Outcome::kOk);
  EXPECT_EQ(value, "old");
  EXPECT_EQ(at(1, "1x"), "new");
}

/// A holder only delays a snapshot: at its own node, and at another, whose owner has others to answer meanwhile.
TEST_P(AcrossNodes, ASnapshotWaitsForWhoHoldsARecord) {
  cluster_.pass_epochs(9);
  bool locked = false;
  std::string here;
  std::string there;
  std::array<char, 16> buffer{};
  std::array<MultiGet, 1> gets = {MultiGet{table(0), "1x", buffer, {}}};
  cluster_.scheduler.spawn([&] {
    Transaction holder = begin(2);
    const Declared key{table(2), "1x", true};
    EXPECT_EQ(holder.declare({&key, 1}), Outcome::kOk);
    locked = true;
    for (int turn = 0; turn < 200; ++turn) cluster_.scheduler.yield();
    EXPECT_EQ(holder.put(table(2), "1x", "new"), Outcome::kOk);
    EXPECT_TRUE(holder.commit().committed());
  });
  const auto read = [&](std::size_t node, std::string& value) {
    while (!locked) cluster_.scheduler.yield();
    Snapshot snapshot = cluster_.node(node).worker(1).snapshot();
    EXPECT_EQ(snapshot.get(table(node), "1x", value), Outcome::kOk);
  };
  cluster_.scheduler.spawn([&] { read(0, there); });
  cluster_.scheduler.spawn([&] { read(1, here); });
  cluster_.scheduler.spawn([&] {
    while (!locked) cluster_.scheduler.yield();
    Snapshot snapshot = cluster_.node(0).worker(0).snapshot();
    EXPECT_EQ(snapshot.multi_get(gets), Outcome::kOk);
  });
  cluster_.scheduler.run();
  EXPECT_EQ(there, "old");
  EXPECT_EQ(here, "old");
  EXPECT_EQ(gets[0].result.outcome, Outcome::kOk);
}

/// I11.
TEST_P(AcrossNodes, WhoIsNoMemberAnyMoreCommitsNothing) {
  membership::Fence fence;
  fence.extend(membership::kForever);
  fence.move(1);
  cluster_.node(0).database().engine().set_fence(fence);
  for (const std::string key : {"0x", "1x"}) {
    Transaction before = begin(0);
    EXPECT_EQ(before.put(table(0), key, "new"), Outcome::kOk);
    fence.move(2);
    EXPECT_EQ(before.commit().reason, AbortReason::kConfigurationChanged);
    fence.move(1);
  }
  // The configuration changes in the middle of the commit, when everything is locked.
  Transaction during = begin(0);
  EXPECT_EQ(during.put(table(0), "1x", "new"), Outcome::kOk);
  base::set_sync_hook([&](std::string_view point) {
    if (point == "across.validated") fence.move(2);
  });
  EXPECT_EQ(during.commit().reason, AbortReason::kConfigurationChanged);
  base::set_sync_hook({});
  fence.close();
  Transaction late = begin(0);
  EXPECT_EQ(late.put(table(0), "0x", "new"), Outcome::kOk);
  EXPECT_EQ(late.commit().reason, AbortReason::kMembershipLost);
  EXPECT_EQ(at(1, "1x"), "old") << "and nothing stays locked";
}

// --- I7: one participant is an epoch ahead, the others follow some time later ---

class OneNodeIsAhead : public AcrossNodes {
 protected:
  /// Runs the transaction; whatever it validates, it does so when all of its participants have reached its epoch.
  void run(Body body) {
    EXPECT_EQ(at(0, "1x") + at(0, "2x"), "oldold") << "connected";
    const epoch::Epoch ahead = epoch_of(1) + 1;
    epoch_word(1).store(ahead);
    follow(ahead);
    bool validated = false;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "across.validated") return;
      validated = true;
      EXPECT_EQ(epoch_of(0), ahead) << "where it runs";
      EXPECT_EQ(epoch_of(2), ahead) << "a participant";
    });
    const Ticket ticket = commit(0, body);
    base::set_sync_hook({});
    EXPECT_TRUE(validated);
    EXPECT_EQ(ticket.epoch, ahead);
    EXPECT_GE(cluster_.node(0).remote().counters().epoch_waits, 1u);
  }

  /// The other nodes, after a while.
  void follow(epoch::Epoch ahead) {
    for (const rdma::NodeId node : {0, 2}) {
      cluster_.network.schedule(node, 3'000'000 + 1'000'000u * node,
                                [this, node, ahead] { epoch_word(node).store(ahead); });
    }
  }
  std::atomic<epoch::Epoch>& epoch_word(std::size_t node) { return cluster_.node(node).control().by_leader.epoch; }
  epoch::Epoch epoch_of(std::size_t node) { return epoch_word(node).load(); }
};

INSTANTIATE_TEST_SUITE_P(Hash, OneNodeIsAhead, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

TEST_P(OneNodeIsAhead, AWriterWaitsForTheOthers) {
  run([](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
  });
}

TEST_P(OneNodeIsAhead, AReaderToo) {
  run([](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
  });
}

TEST_P(OneNodeIsAhead, AndWhoWritesHereAndReadsThere) {
  run([](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
    EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
  });
}

/// The owner holds the record when the x-lock is taken, and gives it back in the next epoch: only from then on is it locked.
class OwnerGivesWayLate : public OneNodeIsAhead {
 protected:
  void run(std::string_view read_too) {
    auto* const record = reinterpret_cast<cc::Record*>(table(1).core()->index().find("1x").value);
    const epoch::Epoch ahead = epoch_of(1) + 1;
    bool held = true;
    base::set_sync_hook([&](std::string_view point) {
      if (point == "across.locked") follow(ahead);
      if (point != "x_lock.taken" || !std::exchange(held, false)) return;
      epoch_word(1).store(ahead);
      record->unlock_unchanged();
    });
    const Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
      (void)value_of(t, table, "1x");
      if (!read_too.empty()) (void)value_of(t, table, read_too);
      EXPECT_TRUE(record->try_lock(record->tid()));
      EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    });
    base::set_sync_hook({});
    EXPECT_EQ(ticket.epoch, ahead);
  }
};

INSTANTIATE_TEST_SUITE_P(Hash, OwnerGivesWayLate, testing::Values(IndexKind::kHash),
                         [](const auto&) { return "Hash"; });

TEST_P(OwnerGivesWayLate, EIsReadBehindTheLastLook) { run(""); }
TEST_P(OwnerGivesWayLate, AlsoIfAnotherNodeTakesPart) { run("2x"); }

/// The TIDs that are read and overwritten may be ahead of every E that was READ.
TEST_P(AcrossNodes, TidsGrowAcrossNodes) {
  const Ticket first =
      commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "a"), Outcome::kOk); });
  const Ticket second =
      commit(2, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "b"), Outcome::kOk); });
  const Ticket third =
      commit(1, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "c"), Outcome::kOk); });
  Ticket reader;
  reader = commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "c");
    EXPECT_EQ(t.put(table, "2y", "d"), Outcome::kOk);
  });
  EXPECT_LT(first.tid, second.tid);
  EXPECT_LT(second.tid, third.tid);
  EXPECT_LT(third.tid, reader.tid);
}

// --- what it costs ---

class Cost : public AcrossNodes {
 protected:
  struct Figures {
    std::array<std::uint64_t, kPhases> rounds;
    std::uint64_t reads, writes, compare_swaps, messages;
    bool operator==(const Figures&) const = default;
  };
  Figures cost_of(Body body) {
    const Figures before = figures();
    commit(0, body);
    Figures after = figures();
    for (std::size_t i = 0; i < kPhases; ++i) after.rounds[i] -= before.rounds[i];
    after.reads -= before.reads;
    after.writes -= before.writes;
    after.compare_swaps -= before.compare_swaps;
    after.messages -= before.messages;
    return after;
  }

 private:
  Figures figures() {
    const ReachCounters& counters = cluster_.node(0).remote().counters();
    Figures now{};
    for (std::size_t i = 0; i < kPhases; ++i) now.rounds[i] = counters.rounds[i];
    now.reads = counters.reads;
    now.writes = counters.writes;
    now.compare_swaps = counters.compare_swaps;
    now.messages = counters.messages;
    return now;
  }
};

INSTANTIATE_TEST_SUITE_P(Hash, Cost, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

/// w writes and r reads at one participant, places known: a round trip for each step.
TEST_P(Cost, OneRoundTripAStepAtOneParticipant) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}}, MultiGet{table, "1y", buffers[1], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
  };
  (void)cost_of(run);
  const Figures warm = cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kPhases>{1, 1, 0, 1, 1}));
  EXPECT_EQ(warm.compare_swaps, 1u);
  EXPECT_EQ(warm.reads, 2u + 2u + 1u) << "two records; header and E; the header that is not locked";
  EXPECT_EQ(warm.writes, 2u);
  EXPECT_EQ(warm.messages, 0u);
}

TEST_P(Cost, TheSameAtSeveralParticipants) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 3> buffers;
    std::array<MultiGet, 3> gets = {MultiGet{table, "1x", buffers[0], {}}, MultiGet{table, "2x", buffers[1], {}},
                                    MultiGet{table, "1y", buffers[2], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
  };
  (void)cost_of(run);
  EXPECT_EQ(cost_of(run).rounds, (std::array<std::uint64_t, kPhases>{1, 1, 0, 1, 1}));
}

TEST_P(Cost, WhatIsWrittenNeedsNoValidation) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "old"), Outcome::kOk);
  };
  (void)cost_of(run);
  EXPECT_EQ(cost_of(run).rounds, (std::array<std::uint64_t, kPhases>{1, 1, 0, 0, 1}));
}

TEST_P(Cost, AReaderValidatesInOneRound) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
  };
  (void)cost_of(run);
  const Figures warm = cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kPhases>{2, 0, 0, 1, 0}))
      << "the second get is asked for after the first";
  EXPECT_EQ(warm.reads, 2u + 4u);
}

TEST_P(Cost, ALocalTransactionCostsNothing) {
  const Figures none{};
  EXPECT_EQ(cost_of([](Transaction& t, const Table& table) {
              EXPECT_EQ(value_of(t, table, "0x"), "old");
              EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
            }),
            none);
}

}  // namespace
}  // namespace granary::dist::test
