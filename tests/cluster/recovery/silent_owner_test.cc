// A removal that a dead node had decided is told to the record's owner, whose process stands still: its memory can be
// reached, and it answers no message. Whoever recovers must not wait for it without a look whether it still may.

#include <functional>

#include <gtest/gtest.h>

#include "src/cluster/record_access/holder_words.h"
#include "src/record/shared_record.h"
#include "tests/cluster/recovery/left_behind.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

constexpr rdma::NodeId kDead = 0, kOwner = 1, kRecoverer = 2;

class SilentOwner : public testing::Test {
 protected:
  SilentOwner()
      : cluster_(3, 2),
        table_(cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true}).at(kOwner)) {
    cluster_.start();
    cluster_.pass_epochs(2);
    SimClusterNode& owner = cluster_.node(kOwner);
    Transaction t = owner.worker().begin();
    EXPECT_EQ(t.put(table_, "1x", "old"), granary::Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
    const auto& record = *reinterpret_cast<record::Record*>(table_.core()->index().find("1x").value);
    const auto* const state = reinterpret_cast<const char*>(&record::shared_of(record).state_word);
    debt_ = {.node = kOwner,
             .table = table_.core()->id(),
             .key = "1x",
             .state_offset = static_cast<std::uint64_t>(state - owner.database().engine().region().base()),
             .word = HolderWords(kDead, 1, 0).next(),  // it was freed before
             .version = log::Debt::Version{.tid = 1, .removed = true, .value = {}}};
    room_ = cluster_.node(kRecoverer).remote().reach().buffers.take(BufferPool::kChunkBytes);
    owner.keep_silent(true);
  }
  Result<SettleCounts> settle(std::function<bool()> may_act) {
    Reach& reach = cluster_.node(kRecoverer).remote().reach();
    return settle_all({&debt_, 1}, settle_parts(reach, {room_, BufferPool::kChunkBytes}, std::move(may_act)));
  }

  SimCluster cluster_;
  const Table table_;
  log::Debt debt_;
  char* room_ = nullptr;  ///< of the recoverer
};

TEST_F(SilentOwner, IsToldWhenItAnswers) {
  unsigned asked = 0;
  const auto counts = settle([&] {
    if (++asked == 6) cluster_.node(kOwner).keep_silent(false);
    return true;
  });
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_GE(asked, 6u);
  EXPECT_EQ(counts->settled_before, 1u);
  EXPECT_EQ(counts->removals, 1u);
}

TEST_F(SilentOwner, HoldsNobodyUpWhoMayNotActAnyMore) {
  unsigned asked = 0;
  const auto counts = settle([&] { return ++asked < 6; });
  EXPECT_EQ(counts.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(asked, 6u);
}

}  // namespace
}  // namespace granary::cluster::test
