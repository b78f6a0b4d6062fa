// Which chains may run in pieces. Not here: that pieces which may, really give whole transactions a serial order; that
// is the paper's.

#include "src/txn/chopping/chopping.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace granary::txn {
namespace {

DeclaredAccess reads(const char* table, const char* keys = "") { return {table, AccessMode::kRead, keys}; }
DeclaredAccess writes(const char* table, const char* keys = "") { return {table, AccessMode::kWrite, keys}; }
DeclaredAccess adds(const char* table, const char* keys = "") { return {table, AccessMode::kAdd, keys}; }

std::string refusal(std::initializer_list<Chain> chains) {
  return check_chopping({chains.begin(), chains.size()}).message();
}
bool accepted(std::initializer_list<Chain> chains) { return refusal(chains).empty(); }

TEST(Chopping, WhatIsWholeMayDoAnything) {
  EXPECT_TRUE(accepted({{"a", {{writes("x"), writes("y")}}}, {"b", {{reads("x"), writes("y")}}}}));
}

TEST(Chopping, PiecesThatNobodyElseUsesTogetherMayBeApart) {
  const Chain chopped{"a", {{adds("x", "low")}, {reads("y")}}};
  EXPECT_TRUE(accepted({chopped, {"b", {{writes("x", "high"), writes("y")}}}}));
  EXPECT_FALSE(accepted({chopped, {"b", {{writes("x", "low"), writes("y")}}}}));
  EXPECT_FALSE(accepted({chopped, {"b", {{writes("x"), writes("y")}}}}));
  EXPECT_TRUE(accepted({{"a", {{writes("x")}, {reads("z")}}}, {"b", {{reads("x")}}}, {"c", {{reads("z")}}}}));
}

TEST(Chopping, AReaderOfTwoPiecesSeesItHalfDone) {
  const std::string why = refusal({{"transfer", {{adds("x")}, {adds("y")}}}, {"audit", {{reads("x"), reads("y")}}}});
  EXPECT_NE(
      why.find(
          "piece 1 of 'transfer' - both use 'x' - piece 1 of another 'audit' - both use 'y' - piece 2 of 'transfer'"),
      std::string::npos)
      << why;
}

TEST(Chopping, AChainIsInItsOwnWay) {
  const std::string why = refusal({{"transfer", {{writes("x")}, {writes("y")}}}});
  EXPECT_NE(why.find("piece 1 of another 'transfer' - same call - piece 2 of another 'transfer'"), std::string::npos)
      << why;
}

TEST(Chopping, AdditionsChangePlaces) {
  EXPECT_TRUE(accepted({{"transfer", {{adds("x")}, {adds("y")}}}}));
  EXPECT_FALSE(accepted({{"transfer", {{adds("x")}, {adds("y")}}}, {"reset", {{writes("x"), reads("y")}}}}));
}

TEST(Chopping, TheWayMayGoThroughManyChains) {
  const Chain chopped{"a", {{writes("x")}, {reads("y")}}};
  const Chain between{"b", {{reads("x"), writes("p")}}};
  EXPECT_FALSE(accepted({chopped, between, {"c", {{reads("p"), writes("y")}}}}));
  EXPECT_TRUE(accepted({chopped, between, {"c", {{reads("p"), reads("y")}}}}));
}

/// TPC-C's Delivery, which is no chain but ten transactions. Its Payment: tests/tpcc/procedures_test.cc.
TEST(Chopping, DeliveryOfTpccIsNoChain) {
  const DeclaredAccesses one_district{writes("new_order"), writes("order"), writes("order_line"),
                                      adds("customer", "balance")};
  const std::string why = refusal({{"delivery", {one_district, one_district}}});
  EXPECT_NE(why.find("'delivery' may not run in pieces"), std::string::npos) << why;
}

}  // namespace
}  // namespace granary::txn
