// Random transactions on lists that lie on three nodes are strictly serializable, by the judge of recorded histories, whatever the
// network does. A failure names its seed. Not here: nodes that die, HTM regions, secondary indexes.

#include <gtest/gtest.h>

#include "bench/append/history/check.h"
#include "src/base/sanitizers.h"
#include "tests/dist/transaction/append_world.h"
#include "tests/support/scale.h"

namespace granary::dist::test {
namespace {

struct Sums {
  std::uint64_t commits = 0;
  std::uint64_t epochs = 0;
};

Sums judge(AppendOptions options, std::uint64_t seeds) {
  Sums sums;
  seeds = tests::scaled(base::kAddressSanitizer || base::kThreadSanitizer ? seeds / 10 + 1 : seeds);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    options.network.seed = seed;
    AppendWorld world(options);
    EXPECT_EQ(world.run(), "") << "seed " << seed;
    const bench::history::Verdict verdict = bench::history::check(world.history());
    EXPECT_TRUE(verdict.valid()) << "seed " << seed << ": " << verdict.text();
    if (testing::Test::HasFailure()) break;
    sums.commits += world.committed();
    sums.epochs += world.epochs();
  }
  EXPECT_GT(sums.commits, seeds * options.nodes * options.workers * options.transactions / 5);
  EXPECT_GT(sums.epochs, seeds * 2);
  return sums;
}

TEST(HistoryAcrossNodes, HashTables) { (void)judge({.index = IndexKind::kHash}, 40); }

TEST(HistoryAcrossNodes, OrderedTablesWithScans) { (void)judge({.index = IndexKind::kOrdered}, 40); }

TEST(HistoryAcrossNodes, FewListsAndLongTears) {
  (void)judge({.network = {.most_delay = 5'000, .tear = 40'000}, .index = IndexKind::kHash, .lists = 1, .length = 30},
              40);
}

TEST(HistoryAcrossNodes, LostConnectionsAndOtherLeaders) {
  for (const IndexKind index : {IndexKind::kHash, IndexKind::kOrdered})
    (void)judge({.network = {.loss = 0.0005}, .index = index, .trouble = true}, 25);
}

}  // namespace
}  // namespace granary::dist::test
