// What the rings of a node say that its transactions hold at other nodes: all that they do, from before it is locked
// until it has been given back. Processes that are killed are for tests/node/held_by_dead_test.cc.

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/lock_ahead.h"
#include "src/cc/log_entry.h"
#include "src/record/shared_record.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/allocations.h"
#include "tests/support/ring_directory.h"

namespace granary::cluster::test {
namespace {

using recovery::UnfinishedTransaction;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// Keys "0…" are node 0's, and so on. All that is looked at is node 0's worker 0.
class LockAhead : public testing::TestWithParam<IndexKind> {
 protected:
  LockAhead()
      : cluster_(3, 2, {.seed = 1},
                 [this](unsigned id) {
                   Options options = tests::manual_options();
                   options.directory = options.reliable_directory = directory_.path() + "/" + std::to_string(id);
                   options.ring_bytes = std::uint64_t{1} << 20;
                   return options;
                 }),
        tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    for (const std::string key : {"0x", "1x", "1y", "1z", "2x"}) {
      Transaction t = cluster_.node(home_of(key)).worker().begin();
      put(t, key, home_of(key));
      EXPECT_TRUE(t.commit().committed());
    }
  }
  ~LockAhead() override { base::set_sync_hook({}); }

  Transaction begin() { return cluster_.node(0).worker().begin(); }
  void put(Transaction& t, std::string_view key, std::size_t node = 0) {
    EXPECT_EQ(t.put(tables_[node], key, "value"), Outcome::kOk);
  }
  Outcome declare(Transaction& t, std::string_view key, bool write = true) {
    const Declared declared{tables_[0], key, write};
    return t.declare({&declared, 1});
  }
  std::string at_home(std::string_view key) {
    std::string value;
    Transaction t = cluster_.node(home_of(key)).worker().begin();
    EXPECT_EQ(t.get(tables_[home_of(key)], key, value), Outcome::kOk);
    return value;
  }
  std::vector<UnfinishedTransaction> unfinished() {
    auto found = recovery::read_lock_ahead(*cluster_.node(0).worker().core()->state().ring);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return *std::move(found);
  }
  /// The keys of all, those of decided transactions with an exclamation mark.
  std::vector<std::string> named() {
    std::vector<std::string> keys;
    for (const UnfinishedTransaction& one : unfinished()) {
      for (const log::NamedLock& lock : one.locks) {
        EXPECT_EQ(lock.node, home_of(lock.key));
        EXPECT_EQ(lock.table, tables_[0].core()->id());
        keys.push_back(std::string(lock.key) + (one.tid ? "!" : ""));
      }
    }
    return keys;
  }
  record::StateWord state_of(std::string_view key) {
    const auto value = tables_[home_of(key)].core()->index().find(key).value;
    return record::shared_of(*reinterpret_cast<record::Record*>(value)).state();
  }
  /// The word at the place that is named.
  record::StateWord state_at(const log::NamedLock& lock) {
    const char* const begin = cluster_.node(lock.node).database().engine().region().base();
    return base::load_word(reinterpret_cast<const std::uint64_t*>(begin + lock.state_offset));
  }
  /// Whether each of these is named with the word that its record has.
  bool all_named(std::initializer_list<std::string_view> keys) {
    const auto found = unfinished();
    return std::all_of(keys.begin(), keys.end(), [&](std::string_view key) {
      return std::any_of(found.begin(), found.end(), [&](const UnfinishedTransaction& one) {
        return std::any_of(one.locks.begin(), one.locks.end(), [&](const log::NamedLock& lock) {
          return lock.key == key && lock.word == state_of(key) && lock.word == state_at(lock);
        });
      });
    });
  }
  void cut_off_at(std::string_view where) {
    base::set_sync_hook([this, where](std::string_view point) {
      if (point == where) cluster_.network.partition({0}, {1});
    });
  }
  /// Time passes, in which the worker does something else now and then.
  void heal_and_go_on() {
    base::set_sync_hook({});
    cluster_.network.heal_link(0, 1);
    cluster_.network.heal_link(1, 0);
    for (int turn = 0; turn < 10; ++turn) {
      cluster_.network.run_for(100'000'000);
      Transaction t = begin();
      put(t, "0x");
      EXPECT_TRUE(t.commit().committed());
    }
  }

  const tests::RingDirectory directory_;
  SimCluster cluster_;
  const std::vector<Table> tables_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, LockAhead, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(LockAhead, NamesWhatACommitLocksWhileItDoes) {
  std::vector<std::string> at_points;
  base::set_sync_hook([&](std::string_view point) {
    if (point == "x_lock.taken") {
      for (const std::string_view key : {"1x", "2x"})
        EXPECT_TRUE(state_of(key) == record::kFree || all_named({key})) << key << " is locked and not named";
    }
    if (!point.starts_with("across.")) return;
    std::string now(point.substr(7));
    for (const std::string& key : named()) now += " " + key;
    at_points.push_back(std::move(now));
  });
  Transaction t = begin();
  for (const char* const key : {"1x", "2x"}) put(t, key);
  EXPECT_THAT(named(), IsEmpty());
  ASSERT_TRUE(t.commit().committed());
  EXPECT_THAT(at_points, ElementsAre("locked 1x 2x", "agreed 1x 2x", "validated 1x 2x", "prepared 1x 2x",
                                     "deciding 1x 2x", "logged 1x! 2x!", "installed 1x! 2x!", "written_back"));
}

TEST_P(LockAhead, NamesTheTransactionByTheTidThatItCommitsWith) {
  std::optional<record::TidWord> tid;
  base::set_sync_hook([&](std::string_view point) {
    if (point != "across.logged") return;
    ASSERT_EQ(unfinished().size(), 1u);
    tid = unfinished().front().tid;
  });
  Transaction t = begin();
  put(t, "1x");
  EXPECT_EQ(t.commit().ticket.tid, tid);
}

TEST_P(LockAhead, AnAbortLeavesNothingNamed) {
  Transaction t = begin();
  std::string value;
  EXPECT_EQ(t.get(tables_[0], "1y", value), Outcome::kOk);
  put(t, "1x");
  Transaction other = cluster_.node(1).worker().begin();
  put(other, "1y", 1);
  EXPECT_TRUE(other.commit().committed());
  EXPECT_EQ(t.commit().reason, AbortReason::kReadChanged);
  EXPECT_THAT(named(), IsEmpty());
}

TEST_P(LockAhead, EachOpenTransactionHasItsOwn) {
  std::array<Transaction, 3> open = {begin(), begin(), begin()};
  EXPECT_EQ(declare(open[0], "1x"), Outcome::kOk);
  EXPECT_EQ(declare(open[1], "2x"), Outcome::kOk);
  EXPECT_EQ(declare(open[2], "1y"), Outcome::kOk);
  EXPECT_EQ(declare(open[0], "1z"), Outcome::kOk);
  EXPECT_TRUE(all_named({"1x", "2x", "1y", "1z"}));
  EXPECT_EQ(unfinished().size(), 3u);
  open[1].abort();
  EXPECT_THAT(named(), UnorderedElementsAre("1x", "1y", "1z"));
  put(open[0], "1x");
  EXPECT_TRUE(open[0].commit().committed());
  EXPECT_THAT(named(), ElementsAre("1y"));
  Transaction next = begin();
  EXPECT_EQ(declare(next, "2x"), Outcome::kOk);
  EXPECT_TRUE(all_named({"1y", "2x"}));
  open[2].abort();
  next.abort();
  EXPECT_THAT(named(), IsEmpty());
}

/// With locks in the place of leases, what is declared to be read is named as well; and what is leased is not.
TEST_P(LockAhead, DeclaredReadsAreNamedIfTheyAreLocked) {
  Transaction without_time = begin();
  EXPECT_EQ(declare(without_time, "1x", false), Outcome::kOk);
  EXPECT_TRUE(all_named({"1x"}));
  without_time.abort();
  if (!tests::asked_protocol.has_leases) return;
  cluster_.set_time(1'000'000);
  Transaction with_time = begin();
  EXPECT_EQ(declare(with_time, "1x", false), Outcome::kOk);
  EXPECT_TRUE(record::is_lease(state_of("1x")));
  EXPECT_THAT(named(), IsEmpty());
}

TEST_P(LockAhead, WhatCannotBeGivenBackStaysNamedUntilItIs) {
  cut_off_at("across.logged");
  Transaction t = begin();
  for (const char* const key : {"1x", "1y"}) put(t, key);
  const CommitResult done = t.commit();
  ASSERT_TRUE(done.committed());
  ASSERT_THAT(named(), ElementsAre("1x!", "1y!"));
  EXPECT_TRUE(all_named({"1x", "1y"}));
  EXPECT_EQ(unfinished().front().tid, done.ticket.tid);
  Transaction meanwhile = begin();
  put(meanwhile, "2x");
  EXPECT_TRUE(meanwhile.commit().committed());
  EXPECT_THAT(named(), ElementsAre("1x!", "1y!"));
  heal_and_go_on();
  EXPECT_THAT(named(), IsEmpty());
  EXPECT_EQ(state_of("1x"), record::kFree);
}

TEST_P(LockAhead, SoDoesWhatNobodyDecided) {
  cut_off_at("x_lock.taken");
  Transaction t = begin();
  std::string value;
  EXPECT_EQ(t.get(tables_[0], "1y", value), Outcome::kOk);
  put(t, "1x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNodeUnreachable);
  EXPECT_THAT(named(), ElementsAre("1x"));
  heal_and_go_on();
  EXPECT_THAT(named(), IsEmpty());
  EXPECT_EQ(state_of("1x"), record::kFree);
}

/// The place of 1x, or its leaf, is known.
TEST_P(LockAhead, SoDoesWhatAReadHasLocked) {
  std::string value;
  Transaction first = begin();
  EXPECT_EQ(first.get(tables_[0], "1x", value), Outcome::kOk);
  EXPECT_TRUE(first.commit().committed());
  cut_off_at("x_lock.taken");
  Transaction t = begin();
  std::array<char, 32> buffer;
  EXPECT_EQ(t.get_to_write(tables_[0], "1x", buffer).outcome, Outcome::kOk);
  EXPECT_THAT(named(), ElementsAre("1x"));
  EXPECT_TRUE(all_named({"1x"}));
  t.abort();
  EXPECT_THAT(named(), ElementsAre("1x"));
  heal_and_go_on();
  EXPECT_THAT(named(), IsEmpty());
  EXPECT_EQ(state_of("1x"), record::kFree);
}

TEST_P(LockAhead, SoDoesWhatIsLeftWhenAWorkerEnds) {
  cut_off_at("across.logged");
  Transaction t = begin();
  put(t, "1x");
  ASSERT_TRUE(t.commit().committed());
  cluster_.node(0).remote().finish();
  EXPECT_THAT(named(), ElementsAre("1x!"));
  EXPECT_TRUE(all_named({"1x"}));
}

TEST_P(LockAhead, LocksWaitForTheLogsRoomBeforeTheyAreTaken) {
  const cc::WorkerState& worker = cluster_.node(0).worker().core()->state();
  while (worker.ring->has_room(cc::likely_entry_bytes(*worker.ring))) {
    Transaction t = begin();
    put(t, "0x");
    ASSERT_TRUE(t.commit().committed());
  }
  EXPECT_EQ(worker.ring_waits, 0u);
  Transaction t = begin();
  EXPECT_EQ(declare(t, "1x"), Outcome::kOk);
  EXPECT_EQ(worker.ring_waits, 1u);
  EXPECT_TRUE(worker.ring->has_room(cc::likely_entry_bytes(*worker.ring)));
  EXPECT_THAT(named(), ElementsAre("1x"));
}

TEST_P(LockAhead, WhoWouldLockMoreThanThereIsRoomForIsToldBeforeTheFirstLock) {
  const std::string large(40'000, 'k');
  Transaction t = begin();
  put(t, "1x");
  for (int i = 0; i < 5; ++i) put(t, "1" + large + std::to_string(i));
  EXPECT_EQ(t.commit().reason, AbortReason::kLogEntryTooLarge) << "though the ring has room for its writes";
  EXPECT_EQ(state_of("1x"), record::kFree);
  EXPECT_THAT(named(), IsEmpty());
}

/// A region says before it runs where its entry ends. If it was in vain, what others log there meanwhile decides
/// nothing.
TEST_P(LockAhead, ARegionInVainDecidesNothing) {
  if (cluster_.node(0).worker().core()->state().region == nullptr) GTEST_SKIP() << "commits take locks";
  bool in_vain = false, others = false;
  base::set_sync_hook([&](std::string_view point) {
    if (point == "region.planned" && !std::exchange(in_vain, true)) {
      Transaction other = cluster_.node(0).worker(1).begin();  // in the way of the region, which is planned by then
      put(other, "0x");
      EXPECT_TRUE(other.commit().committed());
    }
    if (point == "across.agreed" && in_vain && !std::exchange(others, true)) {
      Transaction other =
          begin();  // of the same worker: its ring goes on, past where the region's entry would have ended
      for (const char* const key : {"0w", "0y", "0z"}) put(other, key);
      EXPECT_TRUE(other.commit().committed());
      EXPECT_THAT(named(), ElementsAre("1x"));
    }
  });
  Transaction t = begin();
  EXPECT_EQ(declare(t, "1x"), Outcome::kOk);
  put(t, "1x");
  put(t, "0x");
  ASSERT_TRUE(t.commit().committed());
  EXPECT_TRUE(others);
  EXPECT_THAT(named(), IsEmpty());
}

/// It leaves no lock, and no list that is half made: the next commit() would log that half alone.
TEST_P(LockAhead, ACommitWithoutMemoryForItsListOfWritesAborts) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  const auto commit = [this](std::uint64_t fails) {
    Transaction t = begin();
    EXPECT_EQ(declare(t, "1x"), Outcome::kOk);
    EXPECT_NE(state_of("1x"), record::kFree);
    for (const char* key : {"1x", "2x"}) EXPECT_EQ(t.put(tables_[0], key, "new"), Outcome::kOk);
    if (fails != 0) tests::failing_allocation = tests::allocations + fails;
    const AbortReason reason = t.commit().reason;
    tests::failing_allocation = 0;
    return reason;
  };
  for (const std::uint64_t fails : {1u, 2u}) {  // the worker has written nowhere else yet, so the list grows each time
    EXPECT_EQ(commit(fails), AbortReason::kOutOfMemory) << fails;
    EXPECT_THAT(named(), IsEmpty());
    for (const char* key : {"1x", "2x"}) EXPECT_EQ(state_of(key), record::kFree) << key;
    EXPECT_EQ(at_home("1x") + at_home("2x"), "valuevalue");
  }
  EXPECT_EQ(commit(0), AbortReason::kNone);
  EXPECT_EQ(at_home("1x") + at_home("2x"), "newnew");
}

}  // namespace
}  // namespace granary::cluster::test
