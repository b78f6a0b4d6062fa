// A process for the owner of the tables that cannot be started leaves nothing open. Not covered: what the owner does
// (tests/cli).

#include "bench/remote/owner.h"

#include <gtest/gtest.h>

#include "tests/support/few_descriptors.h"

namespace granary::bench::remote {
namespace {

TEST(RemoteOwner, WithoutPipesLeavesNoneOpen) {
  constexpr std::size_t kEndsOfTwoPipes = 4;
  for (std::size_t more = 0; more < kEndsOfTwoPipes; ++more) {
    const int next = tests::next_descriptor();
    {
      const tests::FewDescriptors few(more);
      const auto owner = OwnerProcess::start(cluster_config::Provider::kShm, {.keys = 1, .value_bytes = 8}, "unused");
      EXPECT_EQ(owner.status().code(), StatusCode::kUnavailable) << more;
    }
    EXPECT_EQ(tests::next_descriptor(), next) << more;
  }
}

}  // namespace
}  // namespace granary::bench::remote
