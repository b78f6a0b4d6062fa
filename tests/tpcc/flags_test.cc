// What the flags of `granary bench tpcc` accept.

#include <gtest/gtest.h>

#include "bench/tpcc/parameters.h"

namespace granary::bench::tpcc {
namespace {

TEST(Mix, TakesFivePercentages) {
  const auto mix = parse_mix("45,43,4,4,4");
  ASSERT_TRUE(mix.ok());
  EXPECT_EQ((*mix)[1], 43);
  EXPECT_TRUE(parse_mix("0.5,99.5,0,0,0").ok());
  for (const char* bad : {"", "45", "45,43,4,4", "45,43,4,4,4,0", "45,43,4,4,5", "50,60,-10,0,0", "a,b,c,d,e",
                          "45,43,4,4,4,", "nan,0,0,0,100"}) {
    const auto refused = parse_mix(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(refused.status().message().find("--mix"), std::string::npos);
  }
}

TEST(RemoteLineShare, GivesTheShareOfCrossingOrders) {
  EXPECT_NEAR(remote_line_share(0), 0, 1e-9);
  EXPECT_NEAR(remote_line_share(1), 1, 1e-9);
  EXPECT_NEAR(remote_line_share(0.0955), 0.01, 0.0005) << "the standard's 1 % of lines is about 9.5 % of orders";
}

}  // namespace
}  // namespace granary::bench::tpcc
