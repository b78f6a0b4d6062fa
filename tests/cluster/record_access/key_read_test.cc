// Reads by key: through the index, through the location cache, and through a cache that is wrong.

#include "src/cluster/record_access/key_read.h"

#include <gtest/gtest.h>

#include "tests/cluster/record_access/hash_owner.h"
#include "tests/cluster/record_access/sim_nodes.h"
#include "tests/cluster/record_access/versions.h"

namespace granary::cluster {
namespace {

using record::kAbsent;
using record::kLatest;
using record::make_tid;

class ByKey : public testing::TestWithParam<std::string> {
 protected:
  ByKey() { put(0, 7, "value"); }

  OwnedRecord put(std::uint64_t place, std::uint64_t incarnation, const std::string& value) {
    OwnedRecord record = owner_.at(place, GetParam());
    record.make(incarnation, kTid, value);
    EXPECT_TRUE(owner_.hook(record));
    return record;
  }
  void unhook(OwnedRecord record) {
    record::TidWord before = 0;
    ASSERT_TRUE(record.lock(&before));
    ASSERT_TRUE(owner_.remove(record));
    record.unhook();
  }
  KeyRead read(kvstore::remote::LocationCache* cache) {
    KeyRead step(table_, GetParam(), nodes_.remote().buffer(KeyRead::buffer_bytes(table_, GetParam().size())), cache,
                 counters_);
    nodes_.run({&step});
    return step;
  }

  HashOwner owner_{1};
  SimNodes nodes_{{.seed = 7}, 1, owner_.region()};
  const kvstore::remote::RemoteTable table_ = owner_.remote(kOwner);
  kvstore::remote::LocationCache cache_{1024};
  kvstore::remote::LocationCacheCounters counters_;
  const unsigned reads_ = GetParam().size() == 8 ? 1 : 3;  ///< of a lookup
};

INSTANTIATE_TEST_SUITE_P(Keys, ByKey, testing::Values(std::string("8 bytes."), std::string("a longer key")),
                         [](const auto& key) { return key.param.size() == 8 ? "Short" : "Long"; });

TEST_P(ByKey, TheCacheSavesTheLookup) {
  const KeyRead cold = read(&cache_);
  ASSERT_EQ(cold.outcome(), AccessOutcome::kDone);
  EXPECT_EQ(cold.read()->value(), "value");
  EXPECT_EQ(cold.lookup_reads(), reads_);
  const KeyRead warm = read(&cache_);
  ASSERT_EQ(warm.outcome(), AccessOutcome::kDone);
  EXPECT_EQ(warm.read()->value(), "value");
  EXPECT_EQ(warm.lookup_reads(), 0u);
  EXPECT_EQ(counters_.hits.load(), 1u);
  const KeyRead without = read(nullptr);
  EXPECT_EQ(without.lookup_reads(), reads_);
}

TEST_P(ByKey, TheRecordIsKnownExactlyAfterwards) {
  const KeyRead done = read(nullptr);
  EXPECT_EQ(done.record().incarnation, 7u);
  EXPECT_EQ(done.record().incarnation_mask, record::kIncarnationMax);
  EXPECT_EQ(done.record().at, owner_.at(0, GetParam()).remote(kOwner).at);
}

TEST_P(ByKey, AStalePlaceIsForgottenAndLookedUp) {
  (void)read(&cache_);
  unhook(owner_.at(0, GetParam()));
  put(1, 3, "elsewhere");
  const KeyRead moved = read(&cache_);
  ASSERT_EQ(moved.outcome(), AccessOutcome::kDone);
  EXPECT_EQ(moved.read()->value(), "elsewhere");
  EXPECT_EQ(moved.lookup_reads(), reads_);
  EXPECT_EQ(counters_.stale.load(), 1u);
  EXPECT_EQ(read(&cache_).lookup_reads(), 0u) << "the new place is remembered";
}

TEST_P(ByKey, APlaceThatWasUsedAgainForTheKeyIsAnotherRecord) {
  (void)read(&cache_);
  unhook(owner_.at(0, GetParam()));
  put(0, 9, "born again");
  const KeyRead again = read(&cache_);
  ASSERT_EQ(again.outcome(), AccessOutcome::kDone);
  EXPECT_EQ(again.read()->value(), "born again");
  EXPECT_EQ(counters_.stale.load(), 1u);
}

TEST_P(ByKey, AMissingKeyTellsTheBucketsVersion) {
  (void)read(&cache_);
  unhook(owner_.at(0, GetParam()));
  const KeyRead missing = read(&cache_);
  ASSERT_EQ(missing.outcome(), AccessOutcome::kMissing);
  EXPECT_EQ(missing.read(), nullptr);
  const auto* bucket = reinterpret_cast<const kvstore::hash::Bucket*>(owner_.region()->base());
  EXPECT_TRUE(kvstore::hash::Table::unchanged(bucket, missing.missed().version()));
}

TEST_P(ByKey, AnAbsentRecordIsMissingAndThere) {
  OwnedRecord record = owner_.at(0, GetParam());
  record.install(make_tid(3, 6) | kLatest | kAbsent, "");
  const KeyRead absent = read(&cache_);
  ASSERT_EQ(absent.outcome(), AccessOutcome::kMissing);
  ASSERT_NE(absent.read(), nullptr);
  EXPECT_TRUE(record::is_absent(absent.read()->tid()));
}

/// The index leads to a record that is not the key's, as it would if it were damaged.
TEST_P(ByKey, ALookupThatAlwaysLeadsWrongEnds) {
  OwnedRecord record = owner_.at(0, GetParam());
  record.shared().head.store_tid(kTid & ~kLatest);
  EXPECT_EQ(read(&cache_).outcome(), AccessOutcome::kBusy);
}

}  // namespace
}  // namespace granary::cluster
