// Which variants can be had together.

#include "bench/harness/variant.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace granary::bench {
namespace {

bool go_together(Variant one, Variant other) {
  // parse_variants() refuses a variant that is named twice, so the two must differ where the answer may be yes.
  const std::string words = std::string(name(one)) + "," + std::string(name(other));
  return parse_variants(words, VariantSet::all()).ok();
}

TEST(Variant, AnotherEngineIsOneAlone) {
  const std::array engines{Variant::kKeyValue, Variant::kDta, Variant::kHekaton, Variant::kPartitionedStore};
  for (const Variant one : engines) {
    for (const Variant other : engines) EXPECT_FALSE(go_together(one, other)) << name(one) << " " << name(other);
    for (const Variant of_granary : {Variant::kMemSilo, Variant::kGlobalTid, Variant::kSplit, Variant::kNoSnapshots,
                                     Variant::kNoGc, Variant::kNoOverwrites, Variant::kSmallRecords, Variant::kCompress,
                                     Variant::kTicTocHistory, Variant::kDtaBound}) {
      EXPECT_FALSE(go_together(one, of_granary)) << name(one) << " " << name(of_granary);
      EXPECT_FALSE(go_together(of_granary, one)) << name(of_granary) << " " << name(one);
    }
    EXPECT_TRUE(go_together(one, Variant::kSimpleAllocator)) << name(one);
  }
  EXPECT_TRUE(go_together(Variant::kPartitionedStore, Variant::kFastIds));
}

TEST(Variant, ThoseOfGranaryGoTogether) {
  for (const Variant one : VariantSet::engine().list()) {
    for (const Variant other : VariantSet::engine().list()) {
      if (other == one) continue;
      EXPECT_TRUE(go_together(one, other)) << name(one) << " " << name(other);
    }
  }
}

TEST(Variant, NamesWhatExcludes) {
  const auto refused = parse_variants("no-gc,dta", VariantSet::all());
  EXPECT_EQ(refused.status().message(), "--variant=dta,no-gc: the two exclude each other");
}

}  // namespace
}  // namespace granary::bench
