// The rows of the options of tables and of nodes (tests/support/option_rows.h), and that a node that joins looks at its
// own. That creating a table does is tested in tests/bad_input.

#include "src/db/table_options.h"
#include "src/node/cluster_options.h"
#include "tests/support/option_rows.h"

namespace granary::tests {

template <>
struct Rows<TableOptions> {
  static constexpr const char* kHeader = PUBLIC_HEADERS "/table.h";
  static TableOptions good() { return {}; }
};
template <>
struct Rows<ClusterOptions> {
  static constexpr const char* kHeader = PUBLIC_HEADERS "/cluster.h";
  static ClusterOptions good() { return {.file = "cluster.toml", .node = 1}; }
};

using OtherOptions = testing::Types<TableOptions, ClusterOptions>;
INSTANTIATE_TYPED_TEST_SUITE_P(Others, OptionRows, OtherOptions);

TEST(ClusterOptions, OutOfRangeAreRefusedByJoining) {
  const auto refusal = [](const ClusterOptions& options) { return Cluster::join(options).status().message(); };
  EXPECT_EQ(refusal({.node = 1}), "ClusterOptions::file is empty; expected a path");
  EXPECT_EQ(refusal({.file = "cluster.toml"}), "ClusterOptions::node is 0; expected 1 to 4095");
  EXPECT_EQ(refusal({.file = "cluster.toml", .node = 1, .barrier_timeout_ms = 0}),
            "ClusterOptions::barrier_timeout_ms is 0; expected 1 to 86400000");
}

}  // namespace granary::tests
