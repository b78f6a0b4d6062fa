// TicToc's extension of another node's record, one step at a time: what it raises, and that whoever overwrites the
// record at the same moment either goes beyond the new rts or is noticed. The owner's side is in
// tests/cluster/transaction/times_test.cc.

#include "src/cluster/record_access/extend.h"

#include <gtest/gtest.h>

#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "tests/cluster/record_access/sim_nodes.h"
#include "tests/cluster/record_access/versions.h"

namespace granary::cluster {
namespace {

using record::TidWord;

constexpr TidWord kWanted = record::make_tid(100, 20);

class Extension : public testing::Test {
 protected:
  Extension() { begin_anew(); }

  void begin_anew() {
    record_.make(1, kTid, kValue);
    set_state(record::kFree);
    base::store_word(&record_.shared().owner_rts_word, 0);
  }
  void set_state(record::StateWord word) { base::store_word(&record_.shared().state_word, word); }
  RemoteRecord remote() const { return record_.remote(kOwner); }
  void* buffer(std::size_t bytes) { return nodes_.remote().buffer(bytes); }
  AccessOutcome extend(record::StateWord seen = record::kFree) {
    Extend step(remote(), kTid, kWanted, seen, buffer(Extend::kBufferBytes));
    nodes_.run({&step}, {});
    return step.outcome();
  }
  /// Acts so long after the next step has begun.
  void at(std::uint64_t after, std::function<void()> act) {
    nodes_.scheduler.spawn([this, after, act = std::move(act)] { nodes_.network.schedule(2, after, act); });
  }

  SimNodes nodes_{{.seed = 7}, 1};
  OwnedRecord record_{nodes_.region->base(), 4096, "8 bytes."};
  HolderWords words_{2, 1, 0};
  const record::StateWord other_ = HolderWords(3, 1, 0).next();
  const LeaseExpired any_time_ = [](std::uint64_t) { return true; };
};

TEST_F(Extension, RaisesTheStateWord) {
  EXPECT_EQ(extend(), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), kWanted);
}

TEST_F(Extension, GoesOnFromWhatItFinds) {
  set_state(record::make_tid(100, 3));
  EXPECT_EQ(extend(), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), kWanted);
  EXPECT_EQ(extend(), AccessOutcome::kDone) << "somebody else has raised it so far";
  EXPECT_EQ(record_.state(), kWanted);
  set_state(record::make_tid(100, 50));
  EXPECT_EQ(extend(record::make_tid(100, 50)), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), record::make_tid(100, 50)) << "an rts does not decrease";
}

TEST_F(Extension, FailsWhereTheRecordIsHeldOrAnother) {
  set_state(other_);
  EXPECT_EQ(extend(), AccessOutcome::kBusy);
  EXPECT_EQ(record_.state(), other_);
  set_state(record::kFree);
  record_.shared().head.store_tid(record::locked(kTid));
  EXPECT_EQ(extend(), AccessOutcome::kBusy) << "by the owner";
  record_.shared().head.store_tid(kTid);
  record_.install(kNewTid, kNewValue);
  EXPECT_EQ(extend(), AccessOutcome::kChanged);
  record_.make(2, kTid, kValue);
  EXPECT_EQ(extend(), AccessOutcome::kDone) << "the record of its incarnation";
}

/// Whenever an owner locks the record and chooses a time by the rts that it finds, either the extension fails, or that
/// time is behind it.
TEST_F(Extension, IsSeenByAnOwnerOrSeesIt) {
  unsigned done = 0, failed = 0;
  for (std::uint64_t after = 0; after < 60'000; after += 100) {
    begin_anew();
    TidWord chosen = 0;
    at(after, [&] {
      ASSERT_EQ(record::lock_as_owner(record_.shared(), kTid, record::OwnerRule::without_leases()),
                record::OwnerLock::kTaken);
      chosen = std::max(record::tid_of(kTid), record_.state()) + record::make_tid(0, 1);
    });
    const AccessOutcome outcome = extend();
    nodes_.network.run_for(100'000);
    if (outcome == AccessOutcome::kDone) {
      EXPECT_GT(chosen, kWanted) << after;
    }
    (outcome == AccessOutcome::kDone ? done : failed) += 1;
  }
  EXPECT_GT(done, 0u);
  EXPECT_GT(failed, 0u);
}

TEST_F(Extension, ALockTakesItAndGivesItBack) {
  ASSERT_EQ(extend(), AccessOutcome::kDone);
  base::store_word(&record_.shared().owner_rts_word, record::make_tid(100, 30));
  XLock lock(remote(), words_.next(), buffer(XLock::buffer_bytes(record_.key().size())), any_time_);
  nodes_.run({&lock}, {});
  ASSERT_EQ(lock.outcome(), AccessOutcome::kDone);
  EXPECT_EQ(lock.replaced(), kWanted);
  EXPECT_EQ(lock.rts(), record::make_tid(100, 30)) << "the owner's is greater";
  Release release(remote(), lock.mine(), lock.replaced(),
                  buffer(Release::buffer_bytes(record_.key().size(), kMaxValue)));
  nodes_.run({&release}, {});
  EXPECT_EQ(record_.state(), kWanted);
}

TEST_F(Extension, ALockThatIsLetGoPutsItBack) {
  ASSERT_EQ(extend(), AccessOutcome::kDone);
  record_.shared().head.store_tid(record::locked(kTid));
  XLock lock(remote(), words_.next(), buffer(XLock::buffer_bytes(record_.key().size())), any_time_);
  nodes_.run({&lock}, {});
  EXPECT_EQ(lock.outcome(), AccessOutcome::kBusy);
  EXPECT_EQ(record_.state(), kWanted);
}

}  // namespace
}  // namespace granary::cluster
