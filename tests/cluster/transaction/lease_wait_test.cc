// Writers that meet a lease: they wait for its end, for as long as it lasts, and meanwhile hold nothing that others
// could wait for. The clocks run, in virtual time.

#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

constexpr std::uint64_t kLongLease_us = 60'000;
constexpr std::uint64_t kError_us = 50;
/// Of what goes on beside waiting.
constexpr std::uint64_t kMoments_us = 2'000;

/// Node 0 reads under leases what others want to write.
class LeaseWait : tests::WithLeases, public testing::Test {
 protected:
  using Body = std::function<void(Transaction&)>;

  explicit LeaseWait(const SimCluster::Clocks& clocks = {.error_us = kError_us, .lease_us = kLongLease_us})
      : tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true})) {
    for (unsigned node = 0; node < 3; ++node)
      cluster_.network.set_clock(static_cast<rdma::NodeId>(node), {.offset = 1'000'000'000});
    cluster_.run_clocks(clocks);
    cluster_.start();
    cluster_.pass_epochs(2);
    for (const std::string key : {"1a", "1x", "1z", "2x"}) {
      Transaction t = begin(home_of(key));
      EXPECT_EQ(t.put(table(home_of(key)), key, "old"), Outcome::kOk);
      EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    }
  }

  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  const Table& table(std::size_t node) const { return tables_[node]; }
  std::uint64_t now_us() const { return cluster_.network.now() / 1000; }
  base::TimeReading time(std::size_t node) { return cluster_.node(node).time().read(); }
  record::SharedRecord& record(std::string_view key) {
    const auto value = tables_[home_of(key)].core()->index().find(key).value;
    return record::shared_of(*reinterpret_cast<record::Record*>(value));
  }
  Outcome declare(Transaction& t, std::size_t node, std::string_view read, std::string_view write = {}) {
    std::vector<Declared> keys;
    if (!read.empty()) keys.push_back({table(node), read, false});
    if (!write.empty()) keys.push_back({table(node), write, true});
    return t.declare(keys);
  }
  /// Leases the key, for nobody, when the one before is long over; returns the lease's end.
  std::uint64_t lease(std::string_view key) {
    for (const std::uint64_t begin = now_us(); now_us() - begin < kLongLease_us;) cluster_.scheduler.yield();
    Transaction t = begin(0);
    EXPECT_EQ(declare(t, 0, key), Outcome::kOk);
    EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    EXPECT_TRUE(record::is_lease(record(key).state()));
    return record::lease_end_us(record(key).state());
  }
  void put(Transaction& t, std::size_t node, const std::vector<std::string_view>& keys) {
    for (const std::string_view key : keys) (void)t.put(table(node), key, "new");
  }
  /// Tries until it commits; how often. Every failure is for a lock or lease.
  unsigned attempts(std::size_t node, const Body& body, unsigned most = 1'000) {
    for (unsigned attempt = 1; attempt <= most; ++attempt) {
      Transaction t = begin(node);
      body(t);
      const AbortReason reason = t.commit().reason;
      if (reason == AbortReason::kNone) return attempt;
      EXPECT_EQ(reason, AbortReason::kRemotelyLocked);
    }
    return most + 1;
  }
  /// Runs `body` at the node until it commits, and looks `watch` at every moment until the lease has expired there.
  void watch(std::size_t node, std::uint64_t end_us, const Body& body, const std::function<void()>& look) {
    bool done = false;
    cluster_.scheduler.spawn([&] {
      EXPECT_EQ(attempts(node, body), 2u);
      done = true;
    });
    cluster_.scheduler.spawn([&] {
      std::uint64_t looks = 0;
      for (; !done && !time(node).expired(end_us); cluster_.scheduler.yield(), ++looks) look();
      EXPECT_TRUE(time(node).expired(end_us)) << "the writer was earlier";
      EXPECT_GT(looks, 1'000u);
    });
    cluster_.scheduler.run();
  }

  SimCluster cluster_{3};
  const std::vector<Table> tables_;
};

TEST_F(LeaseWait, OfAnOwnerHoldsNothing) {
  for (const bool across : {false, true}) {
    const std::uint64_t end_us = lease("1x");
    unsigned held = 0;
    const std::vector<std::string_view> keys{"1a", "1x", "1z", "2x"};
    watch(
        1, end_us,
        [&](Transaction& t) {
          put(t, 1, {keys.begin(), keys.begin() + (across ? 4 : 3)});
        },
        [&] {
          for (const std::string_view key : keys) {
            if (record::is_locked(record(key).head.tid()) || record::is_x_locked(record(key).state())) ++held;
          }
        });
    EXPECT_EQ(held, 0u) << (across ? "across nodes" : "here alone");
  }
}

TEST_F(LeaseWait, OfAnotherNodeHoldsNothingForLong) {
  for (const bool declared : {false, true}) {
    const std::uint64_t end_us = lease("1x");
    std::uint64_t last = 0;
    watch(
        2, end_us,
        [&](Transaction& t) {
          if (declared && declare(t, 2, {}, "1x") == Outcome::kOk) (void)declare(t, 2, {}, "1a");
          put(t, 2, {"1a", "1x"});
        },
        [&, begin = now_us()] {
          if (record::is_x_locked(record("1a").state())) last = now_us() - begin;
        });
    EXPECT_LT(last, kMoments_us) << declared;
  }
}

TEST_F(LeaseWait, HoldsBackNoEpoch) {
  for (const std::size_t node : {1u, 2u}) {
    const std::uint64_t end_us = lease("1x");
    epoch::ControlBlock& control = cluster_.node(node).control();
    unsigned held_back = 0;
    watch(
        node, end_us, [&](Transaction& t) { put(t, node, {"1x"}); },
        [&, begin = now_us()] {
          if (now_us() - begin < kMoments_us) return;
          if (control.by_node.oldest == control.by_leader.epoch) {
            for (unsigned each = 0; each < 3; ++each) cluster_.node(each).control().by_leader.epoch.fetch_add(1);
          }
          for (unsigned each = 0; each < 3; ++each) (void)cluster_.node(each).database().step();
          if (control.by_node.oldest < control.by_leader.epoch) ++held_back;
        });
    EXPECT_EQ(held_back, 0u) << "node " << node;
  }
}

TEST_F(LeaseWait, IsNotLongerThanAnyLease) {
  for (const std::size_t node : {1u, 2u}) {
    constexpr std::uint64_t kHour_us = 3'600'000'000;
    base::store_word(&record("1x").state_word, record::lease_word(time(node).now_us + kHour_us));
    const std::uint64_t begin = now_us();
    EXPECT_EQ(attempts(
                  node, [&](Transaction& t) { put(t, node, {"1x"}); }, 1),
              2u);
    EXPECT_LT(now_us() - begin, 2 * kLongLease_us) << "of a clock that was set back since";
  }
}

/// Readers of all nodes lease a record again and again.
class LeaseTurns : public LeaseWait {
 protected:
  LeaseTurns() : LeaseWait({.error_us = 0, .lease_us = 4'000}) {}

  void read(std::size_t node, std::size_t worker) {
    while (!done_) {
      Transaction t = begin(node, worker);
      if (declare(t, node, "1x") == Outcome::kOk && t.commit().reason == AbortReason::kNone) ++reads_;
      cluster_.scheduler.yield();
    }
  }

  bool done_ = false;
  std::uint64_t reads_ = 0;
};

/// Who waited for the end of a lease has the record before the next one.
TEST_F(LeaseTurns, AreTakenByWriters) {
  for (const std::size_t writer : {1u, 2u}) {
    constexpr unsigned kWrites = 20;
    unsigned tries = 0;
    unsigned most = 0;
    done_ = false;
    for (const std::size_t node : {0u, 2u}) {
      for (const std::size_t worker : {0u, 1u}) {
        if (node == writer && worker == 0) continue;
        cluster_.scheduler.spawn([this, node, worker] { read(node, worker); });
      }
    }
    cluster_.scheduler.spawn([&] {
      for (unsigned i = 0; i < kWrites; ++i) {
        for (std::uint64_t turns = 0; turns < 500; ++turns) cluster_.scheduler.yield();
        const unsigned now = attempts(writer, [&](Transaction& t) { put(t, writer, {"1x"}); });
        tries += now;
        most = std::max(most, now);
      }
      done_ = true;
    });
    cluster_.scheduler.run();
    EXPECT_LE(most, 2u) << "node " << writer;
    EXPECT_GT(tries, kWrites) << "there were leases";
  }
  EXPECT_GT(reads_, 1'000u);
}

TEST_F(LeaseWait, EndsWhenNobodyKnowsTheTime) {
  for (const std::size_t node : {1u, 2u}) {
    (void)lease("1x");
    cluster_.node(node).set_knows_time(false);
    const std::uint64_t begin = now_us();
    EXPECT_EQ(attempts(
                  node, [&](Transaction& t) { put(t, node, {"1x"}); }, 1),
              2u);
    EXPECT_LT(now_us() - begin, kMoments_us);
    cluster_.node(node).set_knows_time(true);
  }
}

}  // namespace
}  // namespace granary::cluster::test
