// For how long a recovery says that it has waited for the device of the dead node's directory.

#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/tsc_clock.h"
#include "tests/node/recoverer_setting.h"

namespace granary::db {
namespace {

/// The board of the cluster may stall, or a home that does not answer, and neither is the device of the dead node's
/// directory.
TEST_F(RecovererTest, DoesNotTakeABoardOrAHomeThatStallsForADevice) {
  be_quiet();
  std::vector<std::uint64_t> rests;
  meanwhile_ = [&] {
    const std::optional<RecoveryUnderWay> under_way = recoveries_.under_way();
    if (!under_way) return;  // it claims
    const std::uint64_t began_us = base::monotonic_us();
    while (base::monotonic_us() < began_us + 1000) {
    }
    rests.push_back(recoveries_.under_way()->rests_us);
  };
  place_->set_before_replace([&] { meanwhile_(); });
  (void)recoverer().step(now());
  place_->set_before_replace({});
  EXPECT_FALSE(now().owes(kDead));
  EXPECT_THAT(rests, testing::ElementsAre(0u, 0u, 0u, 0u)) << "settling, at the homes, adopting, recovered";
}

}  // namespace
}  // namespace granary::db
