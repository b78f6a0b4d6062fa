// The rows of a database's options (tests/support/option_rows.h), and the texts that are made of rows. That opening
// checks is tested in tests/bad_input; flags in tests/cli.

#include "src/base/options_table.h"

#include <gmock/gmock.h>

#include "tests/support/option_rows.h"

namespace granary::tests {

template <>
struct Rows<Options> {
  static constexpr const char* kHeader = PUBLIC_HEADERS "/options.h";
  static Options good() { return {}; }
};
template <>
struct Rows<HtmSimulation> {
  static constexpr const char* kHeader = PUBLIC_HEADERS "/options.h";
  static HtmSimulation good() { return {}; }
};

using DatabaseOptions = testing::Types<Options, HtmSimulation>;
INSTANTIATE_TYPED_TEST_SUITE_P(Database, OptionRows, DatabaseOptions);

}  // namespace granary::tests

namespace granary::option {
namespace {

TEST(OptionTexts, AreAsPeopleWriteThem) {
  EXPECT_EQ(allowed(row<&Options::epoch_ms>()), "1 to 10000");
  EXPECT_EQ(initially(row<&Options::epoch_ms>()), "40");
  EXPECT_EQ(allowed(row<&Options::ring_bytes>()), "64KiB to 1GiB");
  EXPECT_EQ(initially(row<&Options::ring_bytes>()), "8MiB");
  EXPECT_EQ(allowed(row<&Options::max_open_epochs>()), "a whole number, 0 or more");
  EXPECT_EQ(allowed_with_unit(row<&Options::max_open_epochs>()), "a whole number of epochs, 0 or more");
  EXPECT_EQ(allowed_with_unit(row<&HtmSimulation::seed>()), "a whole number, 0 or more");
  EXPECT_EQ(allowed_with_unit(row<&Options::epoch_ms>()), "1 to 10000 milliseconds");
  EXPECT_EQ(allowed_with_unit(row<&Options::ring_bytes>()), "64KiB to 1GiB");
  EXPECT_EQ(initially(row<&Options::numa_node>()), "any");
  EXPECT_EQ(allowed(row<&Options::release>()), "durable, commit");
  EXPECT_EQ(initially(row<&Options::release>()), "durable");
  EXPECT_EQ(initially(row<&Options::directory>()), "in memory only");
}

}  // namespace
}  // namespace granary::option
