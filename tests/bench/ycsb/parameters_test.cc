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
    EXPECT_EQ(mix->share(Operation::kUpdate), 0u) << preset.name;
    EXPECT_EQ(mix->share(Operation::kReadModifyWrite), preset.name == "cicada_reads" ? 5u : 50u);
    EXPECT_EQ(mix->share(Operation::kRead), 100 - mix->share(Operation::kReadModifyWrite));
  }
  EXPECT_EQ(presets_seen, 2);
}

}  // namespace
}  // namespace granary::bench::ycsb
