// The tests check what the presets of `bench ycsb` stand for.

#include "bench/ycsb/parameters.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace granary::bench::ycsb {
namespace {

/// Each write of Cicada's own test program is a read-modify-write. An update that does not read is less work, and is no
/// conflict with what others have read.
TEST(YcsbParameters, CicadasWritesAreReadModifyWrites) {
  int presets_seen = 0;
  for (const Preset& preset : presets()) {
    if (!preset.of.starts_with("Cicada")) continue;
    ++presets_seen;
    const auto* const mix = std::ranges::find(mixes(), preset.mix, &Mix::name);
    ASSERT_NE(mix, mixes().end()) << preset.mix;
    EXPECT_EQ(mix->shares[Operation::kUpdate], 0) << preset.name;
    EXPECT_EQ(mix->shares[Operation::kReadModifyWrite], preset.name == "cicada_reads" ? 5 : 50);
    EXPECT_EQ(mix->shares[Operation::kRead], 100 - mix->shares[Operation::kReadModifyWrite]);
  }
  EXPECT_EQ(presets_seen, 2);
}

}  // namespace
}  // namespace granary::bench::ycsb
