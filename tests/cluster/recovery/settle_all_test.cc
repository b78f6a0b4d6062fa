// A node dies in the middle of its transactions, and what it owes is read from copies of its rings and its log, and
// settled by another node at all homes: everything is there that was decided, nothing else is, and nothing stays
// locked. Who recovers when, and that the dead node is cut off before, is for src/node.

#include "src/cluster/recovery/settle_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "tests/cluster/recovery/left_behind.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

constexpr rdma::NodeId kDead = 0, kHome = 1, kRecoverer = 2;

/// Node 0 dies, node 2 recovers it. Keys "1…" are node 1's, and so on.
class SettleAll : public testing::TestWithParam<IndexKind> {
 protected:
  SettleAll()
      : cluster_(3, 2, {.seed = 1},
                 [this](unsigned id) {
                   Options options = tests::manual_options();
                   options.directory = options.reliable_directory = directory_.path() + "/" + std::to_string(id);
                   options.ring_bytes = std::uint64_t{64} << 10;
                   return options;
                 }),
        tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    for (const std::string key : {"1x", "1y", "2x"}) put_at_home(key, "old");
  }
  void SetUp() override {
    if (!recovery::boot_id().ok()) GTEST_SKIP() << "this system has no boot id, so no rings survive";
  }
  ~SettleAll() override { base::set_sync_hook({}); }

  using Body = FunctionRef<void(Transaction&, const Table&)>;
  AbortReason run(std::size_t node, Body body) {
    Transaction t = cluster_.node(node).worker().begin();
    body(t, tables_[node]);
    return t.commit().reason;
  }
  void put_at_home(const std::string& key, const std::string& value) {
    EXPECT_EQ(run(home_of(key),
                  [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, value), Outcome::kOk); }),
              AbortReason::kNone);
  }
  /// As a transaction of its home reads it.
  std::string at_home(const std::string& key) {
    std::string value;
    Outcome found = Outcome::kAborted;
    EXPECT_EQ(run(home_of(key), [&](Transaction& t, const Table& table) { found = t.get(table, key, value); }),
              AbortReason::kNone)
        << key;
    return found == Outcome::kOk ? value : "(none)";
  }
  record::StateWord state_of(const std::string& key) {
    const auto value = tables_[home_of(key)].core()->index().find(key).value;
    return value == 0 ? record::kFree : record::shared_of(*reinterpret_cast<record::Record*>(value)).state();
  }

  void copy_what_is_left(LeftBehind& left) const { left.copy(directory_.path() + "/" + std::to_string(kDead)); }
  /// Whether the rings have an entry with this value.
  static bool has(const LeftBehind& left, std::string_view value) {
    bool found = false;
    left.each_write([&](record::TidWord, const log::Write& write) { found |= write.value == value; });
    return found;
  }
  void cut_off() { cluster_.network.partition({kDead}, {kHome, kRecoverer}); }
  void heal() {
    for (const rdma::NodeId other : {kHome, kRecoverer}) {
      cluster_.network.heal_link(kDead, other);
      cluster_.network.heal_link(other, kDead);
    }
  }
  /// The dead node runs `body`, and dies when it passes the sync point.
  LeftBehind die_at(std::string_view where, Body body) {
    LeftBehind left;
    base::set_sync_hook([&, where](std::string_view point) {
      if (point != where || left.copied()) return;
      copy_what_is_left(left);
      cut_off();
    });
    (void)run(kDead, body);
    base::set_sync_hook({});
    EXPECT_TRUE(left.copied()) << "never passed " << where;
    cluster_.network.run_for(500'000);
    left.read();
    return left;
  }

  Result<SettleCounts> settle(
      std::span<const log::Debt> debts, std::function<bool()> may_act = [] { return true; },
      rdma::NodeId recoverer = kRecoverer) {
    Reach& reach = cluster_.node(recoverer).remote().reach();
    char*& room = rooms_[recoverer];
    if (room == nullptr) room = reach.buffers.take(kRoomBytes);
    SettleParts parts = settle_parts(reach, {room, room_bytes_}, std::move(may_act));
    parts.patience = patience_;
    parts.lives = [this](rdma::NodeId node) { return node != kDead && node != gone_; };
    return settle_all(debts, parts);
  }
  SettleCounts settled(std::span<const log::Debt> debts, rdma::NodeId recoverer = kRecoverer) {
    const auto counts = settle(
        debts, [] { return true; }, recoverer);
    EXPECT_TRUE(counts.ok()) << counts.status().message();
    return counts.ok() ? *counts : SettleCounts();
  }
  void expect_all(const std::string& value, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      EXPECT_EQ(state_of(key), record::kFree) << key;
      EXPECT_EQ(at_home(key), value) << key;
    }
  }

  static constexpr std::size_t kRoomBytes = BufferPool::kChunkBytes;
  const tests::RingDirectory directory_;
  SimCluster cluster_;
  const std::vector<Table> tables_;
  rdma::NodeId gone_ = 99;
  std::array<char*, 3> rooms_{};  ///< of the recoverers
  std::size_t room_bytes_ = kRoomBytes;
  std::optional<std::chrono::milliseconds> patience_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, SettleAll, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

/// From before the first lock until after the last write-back was carried out; also twice, as by a second recoverer.
TEST_P(SettleAll, IsAllOrNothingWheneverTheNodeDies) {
  const std::vector<std::string> keys = {"1x", "1y", "2x"};
  const auto put_all = [&](const std::string& value) {
    return run(kDead, [&](Transaction& t, const Table& table) {
      for (const std::string& key : keys) EXPECT_EQ(t.put(table, key, value), Outcome::kOk);
    });
  };
  // Where the records are is learnt here: else the first transactions would die while they look for them.
  ASSERT_EQ(put_all("old"), AbortReason::kNone);
  std::string expected = "old";
  unsigned undecided = 0, decided = 0;
  SettleCounts all;
  for (std::uint64_t after_ns = 0; after_ns < 400'000; after_ns += 4'000) {
    const std::string value = "new" + std::to_string(after_ns);
    LeftBehind left;
    cluster_.network.schedule(kHome, after_ns, [&] {
      copy_what_is_left(left);
      cut_off();
    });
    (void)put_all(value);
    cluster_.network.run_for(500'000);
    ASSERT_TRUE(left.copied());
    left.read();
    const bool was_decided = has(left, value);
    if (was_decided) expected = value;
    if (!left.debts().empty()) ++(was_decided ? decided : undecided);
    const SettleCounts counts = settled(left.debts());
    EXPECT_EQ(counts.redone + counts.freed + counts.settled_before, left.debts().size());
    EXPECT_EQ(counts.gone, 0u);
    expect_all(expected, keys);
    EXPECT_EQ(settled(left.debts()).settled_before, left.debts().size());
    expect_all(expected, keys);
    all.redone += counts.redone;
    all.freed += counts.freed;
    all.settled_before += counts.settled_before;
    heal();
    for (int turn = 0; turn < 10; ++turn) {  // the worker that died serves for the next one that will
      cluster_.network.run_for(100'000'000);
      EXPECT_EQ(run(kDead, [](Transaction& t, const Table& table) { (void)t.put(table, "0x", "again"); }),
                AbortReason::kNone);
    }
    ASSERT_FALSE(cluster_.node(kDead).remote().has_left_locks());
  }
  EXPECT_GT(undecided, 5u);
  EXPECT_GT(decided, 5u);
  EXPECT_GT(all.redone, 5u);
  EXPECT_GT(all.freed, 5u);
  EXPECT_GT(all.settled_before, 5u);
}

TEST_P(SettleAll, RedoesInsertsAndRemovalsAndTellsTheOwners) {
  const LeftBehind left = die_at("across.logged", [](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1new", "made"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1y"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2x"), Outcome::kOk);
  });
  const SettleCounts counts = settled(left.debts());
  EXPECT_EQ(counts.redone, 3u);
  EXPECT_EQ(counts.removals, 2u);
  EXPECT_EQ(at_home("1new"), "made");
  for (const std::string key : {"1y", "2x"}) {
    EXPECT_EQ(at_home(key), "(none)");
    const kvstore::ordered::Value before = tables_[home_of(key)].core()->index().find(key).value;
    EXPECT_NE(before, 0u);
  }
  for (int turn = 0; turn < 4; ++turn) {
    cluster_.pass_epochs(12);
    for (const unsigned node : {1u, 2u}) {
      epoch::ControlBlock::ByLeader& by_leader = cluster_.node(node).control().by_leader;
      by_leader.snapshot_reclamation.store(by_leader.epoch - 1);
      for (unsigned worker = 0; worker < 2; ++worker) cluster_.node(node).worker(worker).collect_garbage();
      cluster_.node(node).collect_garbage();
    }
  }
  for (const std::string key : {"1y", "2x"})
    EXPECT_EQ(tables_[home_of(key)].core()->index().find(key).value, 0u) << key << " was noted as removed";
}

TEST_P(SettleAll, FreesWhatWasLockedBeforeTheDecision) {
  for (const char* const point : {"across.locked", "across.validated", "across.deciding"}) {
    const LeftBehind left = die_at(point, [](Transaction& t, const Table& table) {
      for (const char* const key : {"1x", "2x"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
    });
    EXPECT_EQ(settled(left.debts()).freed, 2u) << point;
    expect_all("old", {"1x", "2x"});
    heal();
    cluster_.network.run_for(100'000'000);
    (void)run(kDead, [](Transaction& t, const Table& table) { (void)t.put(table, "0x", "again"); });
  }
}

/// The ring has given the entry back when the node dies: it is in a segment, of an epoch that may be beyond D or not.
TEST_P(SettleAll, RedoesWhatIsInTheLogAlready) {
  base::set_sync_hook([this](std::string_view point) {
    if (point == "across.logged") cut_off();
  });
  EXPECT_EQ(run(kDead,
                [](Transaction& t, const Table& table) {
                  for (const char* const key : {"1x", "2x"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
                }),
            AbortReason::kNone);
  base::set_sync_hook({});
  cluster_.network.run_for(500'000);
  cluster_.pass_epochs(6);
  LeftBehind left;
  copy_what_is_left(left);
  left.read();
  EXPECT_FALSE(has(left, "new")) << "in a ring";
  ASSERT_EQ(left.debts().size(), 2u);
  EXPECT_EQ(settled(left.debts()).redone, 2u);
  expect_all("new", {"1x", "2x"});
}

TEST_P(SettleAll, ANodeThatDoesNotLiveIsPassedBy) {
  const LeftBehind left = die_at("across.logged", [](Transaction& t, const Table& table) {
    for (const char* const key : {"1x", "1y", "2x"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
  });
  gone_ = kHome;
  cluster_.node(kHome).crash();
  const SettleCounts counts = settled(left.debts());
  EXPECT_EQ(counts.gone, 2u);
  EXPECT_EQ(counts.redone, 1u);
  expect_all("new", {"2x"});
}

/// It dies only while it is being waited for, without a limit to the patience.
TEST_P(SettleAll, ANodeThatCannotBeReachedIsTriedAgainAsLongAsItLives) {
  for (const bool dies : {false, true}) {
    put_at_home("1x", "old");
    const LeftBehind left = die_at("across.logged", [](Transaction& t, const Table& table) {
      EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    });
    cluster_.network.partition({kRecoverer}, {kHome});
    patience_ = std::chrono::milliseconds(0);
    EXPECT_THAT(settle(left.debts()).status().message(), testing::HasSubstr("node 1, where it held records, is"));
    patience_.reset();
    unsigned asked = 0;
    const auto counts = settle(left.debts(), [&] {
      if (++asked == 5 && dies) gone_ = kHome;
      if (asked == 5 && !dies) {
        cluster_.network.heal_link(kRecoverer, kHome);
        cluster_.network.heal_link(kHome, kRecoverer);
      }
      return true;
    });
    ASSERT_TRUE(counts.ok()) << counts.status().message();
    EXPECT_EQ(counts->redone, dies ? 0u : 1u);
    EXPECT_EQ(counts->gone, dies ? 1u : 0u);
    if (!dies) expect_all("new", {"1x"});
    heal();
    cluster_.network.run_for(100'000'000);
    (void)run(kDead, [](Transaction& t, const Table& table) { (void)t.put(table, "0x", "again"); });
  }
}

/// Before homes are reached, before the first round, and before the one that would change something.
TEST_P(SettleAll, ARecovererThatMayNotActAnyMoreStops) {
  const LeftBehind left = die_at("across.logged", [](Transaction& t, const Table& table) {
    for (const char* const key : {"1x", "2x"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
  });
  for (const unsigned allowed : {0u, 1u, 2u}) {
    unsigned asked = 0;
    const auto counts = settle(left.debts(), [&] { return asked++ < allowed; });
    EXPECT_EQ(counts.status().code(), StatusCode::kUnavailable);
    for (const std::string key : {"1x", "2x"}) EXPECT_TRUE(record::is_x_locked(state_of(key))) << key;
  }
  EXPECT_EQ(settled(left.debts()).redone, 2u);
  expect_all("new", {"1x", "2x"});
}

/// After each question, with no more room than one debt needs. Nothing of the first one is under way then.
TEST_P(SettleAll, AnotherRecovererDoesAllAgainWhereverTheFirstStopped) {
  const std::vector<std::string> keys = {"1x", "1y", "1z", "2x", "2y"};
  unsigned allowed = 0;
  for (bool came_to_an_end = false; !came_to_an_end; ++allowed) {
    for (const std::string& key : keys) put_at_home(key, "old");
    const std::string value = "new" + std::to_string(allowed);
    const LeftBehind left = die_at("across.logged", [&](Transaction& t, const Table& table) {
      for (const std::string& key : keys) {
        if (key == "1y" || key == "2y") {
          EXPECT_EQ(t.remove(table, key), Outcome::kOk);
        } else {
          EXPECT_EQ(t.put(table, key, value), Outcome::kOk);
        }
      }
    });
    ASSERT_EQ(left.debts().size(), keys.size());
    room_bytes_ = settle_room_bytes(left.debts());
    unsigned asked = 0;
    came_to_an_end = settle(left.debts(), [&] { return asked++ < allowed; }).ok();
    put_at_home("1w", "a living node goes on");
    const SettleCounts counts = settled(left.debts(), kHome);
    EXPECT_EQ(counts.redone + counts.settled_before, keys.size());
    EXPECT_TRUE(!came_to_an_end || counts.redone == 0);
    expect_all(value, {"1x", "1z", "2x"});
    expect_all("(none)", {"1y", "2y"});
    heal();
    cluster_.network.run_for(100'000'000);
    (void)run(kDead, [](Transaction& t, const Table& table) { (void)t.put(table, "0x", "again"); });
  }
  EXPECT_EQ(allowed, 2 * keys.size() + 2) << "two questions for each debt, and one before homes are reached";
}

/// As long as a home lives and does not answer, there is no round to ask before.
TEST_P(SettleAll, ARecovererThatMayNotActAnyMoreDoesNotWaitForASilentHome) {
  const LeftBehind left = die_at(
      "across.logged", [](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk); });
  cluster_.network.partition({kRecoverer}, {kHome});
  unsigned asked = 0;
  EXPECT_EQ(settle(left.debts(), [&] { return asked++ < 3; }).status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(record::is_x_locked(state_of("1x")));
}

/// More than travels together at once, with no more registered memory than one of them needs.
TEST_P(SettleAll, ManyDebtsNeedNoMoreMemoryThanOne) {
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back((i % 2 == 0 ? "1" : "2") + std::string("k") + std::to_string(i));
  for (const std::string& key : keys) put_at_home(key, "old");
  const LeftBehind left = die_at("across.logged", [&](Transaction& t, const Table& table) {
    for (const std::string& key : keys) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
  });
  ASSERT_EQ(left.debts().size(), keys.size());
  room_bytes_ = settle_room_bytes(left.debts()) - 1;
  EXPECT_EQ(settle(left.debts()).status().code(), StatusCode::kResourceExhausted);
  for (const std::string& key : keys) EXPECT_TRUE(record::is_x_locked(state_of(key)));
  room_bytes_ = settle_room_bytes(left.debts());
  EXPECT_EQ(settled(left.debts()).redone, keys.size());
  expect_all("new", keys);
}

/// What the dead node left locked in one transaction is not what it left in another.
TEST_P(SettleAll, OnlyWhatIsNamedIsFreed) {
  const LeftBehind left = die_at("across.logged", [](Transaction& t, const Table& table) {
    for (const char* const key : {"1x", "2x"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
  });
  const record::StateWord others =
      record::x_lock_word({.node = kDead, .generation = 1, .worker = 1, .sequence = 12345});
  const auto value = tables_[kHome].core()->index().find("1x").value;
  auto& shared = record::shared_of(*reinterpret_cast<record::Record*>(value));
  base::store_word(&shared.state_word, others);
  const SettleCounts counts = settled(left.debts());
  EXPECT_EQ(counts.settled_before, 1u);
  EXPECT_EQ(counts.redone, 1u);
  EXPECT_EQ(state_of("1x"), others);
  base::store_word(&shared.state_word, record::kFree);
  EXPECT_EQ(at_home("1x"), "old");
}

/// A version of a later transaction is under the named word only if somebody has put it there; it is kept even so.
TEST_P(SettleAll, ANewerVersionIsKept) {
  const LeftBehind left = die_at("across.logged", [](Transaction& t, const Table& table) {
    for (const char* const key : {"1x", "2x"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
  });
  const record::StateWord held = state_of("1x");
  const auto value = tables_[kHome].core()->index().find("1x").value;
  auto& shared = record::shared_of(*reinterpret_cast<record::Record*>(value));
  base::store_word(&shared.state_word, record::kFree);
  cluster_.pass_epochs(3);
  put_at_home("1x", "newer");
  base::store_word(&shared.state_word, held);
  EXPECT_EQ(settled(left.debts()).freed, 1u);
  expect_all("newer", {"1x"});
  expect_all("new", {"2x"});
}

}  // namespace
}  // namespace granary::cluster::test
