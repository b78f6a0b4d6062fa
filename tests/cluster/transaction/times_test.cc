// TicToc across nodes: a reader R commits at a late time of its epoch, since it has also read a record that was changed
// often. Whoever changes afterwards what R has read, at whichever node, gets a later time; and nobody frees what a dead
// node held before that is sure.

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "src/cc/tictoc/shared_record.h"
#include "src/record/shared_record.h"
#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

/// Whatever protocol the program's tests are run with.
struct OfTicToc {
  explicit OfTicToc(Htm htm) {
    tests::asked_htm = htm;
    tests::asked_protocol = {.name = "tictoc", .has_leases = false, .in_real_time = false};
  }
  ~OfTicToc() {
    tests::asked_protocol = asked;
    tests::asked_htm = asked_htm;
  }
  OfTicToc(const OfTicToc&) = delete;
  OfTicToc& operator=(const OfTicToc&) = delete;

  const tests::TestedProtocol asked = tests::asked_protocol;
  const Htm asked_htm = tests::asked_htm;
};

class Times : OfTicToc, public AcrossNodes {
 protected:
  explicit Times(Htm htm = Htm::kOff) : OfTicToc(htm) {}
  void SetUp() override {
    for (const char* const key : {"0r", "1r", "2hot"}) put(0, key);
    put(0, "1gone");
    commit(1, [](Transaction& t, const Table& table) { EXPECT_EQ(t.remove(table, "1gone"), Outcome::kOk); });
    begin_epoch();
  }
  /// In which nothing but "2hot" has been written.
  void begin_epoch() {
    cluster_.pass_epochs(2);
    for (int i = 0; i < 40; ++i) put(2, "2hot");
  }

  record::TidWord put(std::size_t node, std::string_view key) {
    return commit(node, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk); })
        .tid;
  }
  /// R at this node.
  record::TidWord see_late(std::size_t node, std::string_view key, bool declares = false) {
    return commit(node,
                  [&](Transaction& t, const Table& table) {
                    if (declares) {
                      const Declared declared{table, key, /*write=*/false};
                      EXPECT_EQ(t.declare({&declared, 1}), Outcome::kOk);
                    }
                    (void)value_of(t, table, key);
                    (void)value_of(t, table, "2hot");
                    EXPECT_EQ(t.put(table, node == 0 ? "0r" : "1r", "new"), Outcome::kOk);
                  })
        .tid;
  }
  /// Locks the record and gives it back unchanged, as something that it had read has changed.
  void lock_in_vain(std::size_t node, std::string_view key) {
    Transaction t = begin(node, 1);
    EXPECT_NE(value_of(t, table(node), "0r"), "");
    EXPECT_EQ(t.put(table(node), key, "in vain"), Outcome::kOk);
    EXPECT_EQ(t.put(table(node), "0r", "in vain"), Outcome::kOk);
    put(1, "0r");
    EXPECT_FALSE(t.commit().committed());
  }
  void expect_raised_before_look(std::string_view key) {
    const record::SharedRecord& record = record_at(1, key);
    record::TidWord raised = 0;
    base::set_sync_hook([&](std::string_view point) {
      if (point == "header.half") raised = base::load_word(&record.owner_rts_word);
    });
    const record::TidWord reader = see_late(1, key);
    base::set_sync_hook({});
    EXPECT_GE(raised, reader);
  }
  /// Reads the record at node 1, where a holder of another node has written its version as far as the TID, and returns
  /// the rts that the reader believes. Before, a reader has raised the owner's rts in vain, to `raised`, and the holder
  /// has yet to clear it.
  record::TidWord rts_under_way(std::string_view key, record::TidWord raised, bool copy) {
    auto& record = const_cast<record::SharedRecord&>(record_at(1, key));
    class HolderGoesOn final : public base::Waiter {
     public:
      explicit HolderGoesOn(record::SharedRecord& record) : record_(record) {}
      void pause(std::uint32_t) override {
        base::store_word(&record_.owner_rts_word, 0);
        base::store_word(&record_.state_word, record::kFree);
      }

     private:
      record::SharedRecord& record_;
    } holder(record);
    base::store_word(&record.owner_rts_word, raised);
    base::store_word(&record.state_word, record::x_lock_word({.node = 0}));
    cc::WorkerState& reader = cluster_.node(1).worker().core()->state();
    base::Waiter* const waiter = std::exchange(reader.waiter, &holder);
    std::array<char, 32> value{};
    record::TidWord rts = 0;
    const record::StableRead seen = cc::tictoc::read_shared(record, key.size(), value, copy, reader, rts);
    reader.waiter = waiter;
    EXPECT_EQ(seen.state, record::ReadState::kValue);
    EXPECT_EQ(record::tid_of(seen.tid), record::tid_of(record.head.tid()));
    return rts;
  }
  const record::SharedRecord& record_at(std::size_t node, std::string_view key) {
    return record::shared_of(*record::record_of(table(node).core()->index().find(key).value));
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Times, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Times, WhoeverOverwritesIsBehindAReaderAtTheOwner) {
  for (const std::size_t writer : {0, 1, 2}) {
    begin_epoch();
    const record::TidWord reader = see_late(1, "1x");
    EXPECT_LT(reader, put(writer, "1x")) << writer;
  }
}

TEST_P(Times, WhoeverOverwritesIsBehindAReaderElsewhere) {
  for (const std::size_t writer : {0, 1, 2}) {
    begin_epoch();
    const record::TidWord reader = see_late(0, "1x");
    EXPECT_LT(reader, put(writer, "1x")) << writer;
  }
}

TEST_P(Times, ThatIsSoBehindALockThatWasGivenBack) {
  for (const std::size_t holder : {0, 2}) {
    for (const std::size_t writer : {0, 1, 2}) {
      const record::TidWord reader = see_late(0, "1x");
      lock_in_vain(holder, "1x");
      EXPECT_LT(reader, put(writer, "1x")) << holder << " " << writer;
    }
  }
}

/// The holder writes the TID before it clears the owner's rts. So whoever finds that TID under its lock knows nothing
/// of the version's rts.
TEST_P(Times, AReaderBelievesNoRtsThatItFoundUnderAnXLock) {
  const record::TidWord raised = record::make_tid(record::epoch_of(put(0, "1r")), 1000);
  EXPECT_LT(rts_under_way("1r", raised, /*copy=*/true), raised);
}

TEST_P(Times, AReaderOfTheTidAloneBelievesNoneEither) {
  const record::TidWord raised = record::make_tid(record::epoch_of(put(0, "1r")), 1000);
  EXPECT_LT(rts_under_way("1r", raised, /*copy=*/false), raised);
}

TEST_P(Times, AnInsertIsBehindWhoHasMissedTheKey) {
  unsigned number = 0;
  for (const std::size_t reader : {0, 1}) {
    for (const std::size_t writer : {0, 1, 2}) {
      const std::string key = "1m" + std::to_string(number++);
      begin_epoch();
      const record::TidWord missed = see_late(reader, key);
      EXPECT_LT(missed, put(writer, key)) << reader << " " << writer;
    }
  }
}

/// The removed record has left its index, so its own node alone knows of it, and it may yet be lost with the power.
TEST_P(Times, AMissIsNotShownBeforeTheRemoval) {
  cluster_.pass_epochs(2);
  put(1, "1short");
  const Ticket removal =
      commit(1, [](Transaction& t, const Table& table) { EXPECT_EQ(t.remove(table, "1short"), Outcome::kOk); });
  for (int i = 0; i < 40; ++i) {
    cluster_.pass_epochs(1);
    epoch::ControlBlock& control = cluster_.node(1).control();
    control.by_leader.snapshot_reclamation.store(control.by_node.oldest_snapshot - 1);
    cluster_.node(1).worker().collect_garbage();
  }
  EXPECT_EQ(table(1).core()->index().find("1short").value, 0u) << "the removal still leaves a trace";
  const Ticket miss =
      commit(0, [](Transaction& t, const Table& table) { EXPECT_EQ(value_of(t, table, "1short"), "(none)"); });
  EXPECT_GE(miss.epoch, removal.epoch);
}

TEST_P(Times, AnInsertIsBehindWhoHasScannedTheRange) {
  if (GetParam() != IndexKind::kOrdered) return;
  unsigned number = 0;
  for (const std::size_t reader : {0, 1}) {
    for (const std::size_t writer : {0, 1, 2}) {
      const std::string key = "1s" + std::to_string(number++);
      begin_epoch();
      const Ticket scanned = commit(reader, [&](Transaction& t, const Table& table) {
        const auto nothing = [](std::string_view, std::string_view) { return true; };
        EXPECT_TRUE(t.scan(table, {.from = key, .to = key + "z"}, nothing));
        (void)value_of(t, table, "2hot");
        EXPECT_EQ(t.put(table, reader == 0 ? "0r" : "1r", "new"), Outcome::kOk);
      });
      EXPECT_LT(scanned.tid, put(writer, key)) << reader << " " << writer;
    }
  }
}

/// What the worker that had the number before has told counts on when the next one tells of an earlier time.
TEST_P(Times, AnInsertIsBehindWhoHadTheWorkersNumberBefore) {
  for (const std::size_t writer : {1, 2}) {
    const std::string key = "1n" + std::to_string(writer);
    begin_epoch();
    const record::TidWord missed = see_late(0, key);
    cluster_.node(0).replace_worker(0);
    commit(0, [&](Transaction& t, const Table& table) {
      EXPECT_EQ(value_of(t, table, key + "another"), "(none)");
      EXPECT_EQ(t.put(table, "0" + key, "early"), Outcome::kOk);
    });
    EXPECT_LT(missed, put(writer, key)) << writer;
  }
}

TEST_P(Times, WhoeverOverwritesIsBehindWhoOnlyHeldAndRead) {
  for (const std::size_t writer : {0, 1, 2}) {
    begin_epoch();
    const record::TidWord hot = put(2, "2hot");
    commit(0, [&](Transaction& t, const Table& table) {
      const Declared declared{table, "1x", /*write=*/false};
      EXPECT_EQ(t.declare({&declared, 1}), Outcome::kOk);
      (void)value_of(t, table, "1x");
      (void)value_of(t, table, "2hot");
    });
    EXPECT_LT(hot, put(writer, "1x")) << writer << ": what it has read holds when the newest of it was written";
  }
}

TEST_P(Times, WhoeverOverwritesIsBehindWhoHeldWhatItRead) {
  for (const std::size_t writer : {0, 1, 2}) {
    begin_epoch();
    const record::TidWord reader = see_late(0, "1x", /*declares=*/true);
    EXPECT_LT(reader, put(writer, "1x")) << writer;
  }
}

TEST_P(Times, AReaderHasTheTimeOfWhatItRead) {
  const record::TidWord written = put(2, "2hot");
  cluster_.pass_epochs(3);
  Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
    (void)value_of(t, table, "1x");
    (void)value_of(t, table, "2hot");
  });
  EXPECT_EQ(ticket.epoch, record::epoch_of(written)) << "so it may be shown as soon as that is durable";
}

/// The owner raises its rts before it looks whether others hold the record: who takes it at that moment finds it
/// raised.
TEST_P(Times, AnOwnerRaisesBeforeItLooks) { expect_raised_before_look("1x"); }
TEST_P(Times, AnOwnerRaisesWhatIsAbsentBeforeItLooks) { expect_raised_before_look("1gone"); }

// --- commits in regions at node 1 ---

/// R and W commit in simulated regions if they are at node 1. A region is tried only if nothing at other nodes has to
/// be validated, so R sees a late version there, "1hot". Now and then a region aborts by chance, and its commit takes
/// locks.
class TimesInRegions : public Times {
 protected:
  TimesInRegions() : Times(base::kTestHooks ? Htm::kSim : Htm::kOff) {}
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    Times::SetUp();
  }
  void TearDown() override {
    if (!base::kTestHooks) return;
    EXPECT_GT(cluster_.node(1).database().statistics().htm.commits, 100u);
  }
  void begin_epoch_of_node_1() {
    begin_epoch();
    for (int i = 0; i < 60; ++i) put(1, "1hot");
  }
  record::TidWord see_late_at_node_1(std::string_view key) {
    return commit(1,
                  [&](Transaction& t, const Table& table) {
                    (void)value_of(t, table, key);
                    (void)value_of(t, table, "1hot");
                    EXPECT_EQ(t.put(table, "1r", "new"), Outcome::kOk);
                  })
        .tid;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, TimesInRegions, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(TimesInRegions, WhoeverOverwritesIsBehindAReaderInARegion) {
  for (const std::size_t writer : {0, 1, 2}) {
    begin_epoch_of_node_1();
    const record::TidWord reader = see_late_at_node_1("1x");
    EXPECT_LT(reader, put(writer, "1x")) << writer;
  }
}

TEST_P(TimesInRegions, AWriterInARegionIsBehindAReaderElsewhere) {
  for (const std::size_t reader : {0, 2}) {
    begin_epoch_of_node_1();
    const record::TidWord seen = see_late(reader, "1x");
    EXPECT_LT(seen, put(1, "1x")) << reader;
  }
}

/// A region is tried beside what is x-locked at other nodes, too.
TEST_P(TimesInRegions, WhoeverOverwritesIsBehindWhoHeldWhatItReadElsewhere) {
  for (const std::size_t writer : {0, 1, 2}) {
    begin_epoch_of_node_1();
    const Ticket reader = commit(1, [&](Transaction& t, const Table& table) {
      const Declared declared{table, "0x", /*write=*/false};
      EXPECT_EQ(t.declare({&declared, 1}), Outcome::kOk);
      (void)value_of(t, table, "0x");
      (void)value_of(t, table, "1hot");
      EXPECT_EQ(t.put(table, "1r", "new"), Outcome::kOk);
    });
    EXPECT_LT(reader.tid, put(writer, "0x")) << writer;
  }
}

/// The reader raises the state word when W has chosen its time already.
TEST_P(TimesInRegions, AlsoIfItReadsBeforeTheRegionEnds) {
  for (const char* point : {"region.planned", "region.checked"}) {
    begin_epoch_of_node_1();
    record::TidWord seen = 0;
    base::set_sync_hook([&](std::string_view at) {
      if (at != point || seen != 0) return;
      seen = 1;  // once
      seen = see_late(0, "1x");
    });
    const record::TidWord written = put(1, "1x");
    base::set_sync_hook({});
    EXPECT_GT(seen, 1u) << point;
    EXPECT_LT(seen, written) << point;
  }
}

TEST_P(TimesInRegions, AnInsertIsBehindWhoHasMissedTheKey) {
  unsigned number = 0;
  for (const std::size_t writer : {0, 1, 2}) {
    const std::string key = "1m" + std::to_string(number++);
    begin_epoch_of_node_1();
    const record::TidWord missed = see_late_at_node_1(key);
    EXPECT_LT(missed, put(writer, key)) << writer;
  }
  const std::string key = "1m" + std::to_string(number);
  begin_epoch_of_node_1();
  const record::TidWord missed = see_late(0, key);
  EXPECT_LT(missed, put(1, key));
}

}  // namespace
}  // namespace granary::cluster::test
