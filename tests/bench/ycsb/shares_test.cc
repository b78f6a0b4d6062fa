// The shares of `bench ycsb` as text: what is understood, and what is said of what is not.

#include "bench/ycsb/shares.h"

#include <string>

#include <gtest/gtest.h>

#include "bench/ycsb/parameters.h"

namespace granary::bench::ycsb {
namespace {

std::string refusal(const std::string& text) {
  const Result<Shares> shares = parse_shares(text);
  EXPECT_FALSE(shares.ok()) << text;
  return shares.status().message();
}

TEST(YcsbShares, AreReadInAnyOrder) {
  const Result<Shares> shares = parse_shares("scan=5,read=50,update=20.5,rmw=9.5,insert=5,put=10");
  ASSERT_TRUE(shares.ok()) << shares.status().message();
  EXPECT_EQ(*shares, (Shares{{50, 20.5, 10, 9.5, 5, 5}}));
  EXPECT_EQ((*shares)[Operation::kPut], 10);
  EXPECT_EQ((*shares)[Operation::kScan], 5);
}

TEST(YcsbShares, WhatIsNotNamedDoesNotCome) {
  const Shares shares = parse_shares("insert=100,scan=0").value();
  for (const Operation operation : {Operation::kRead, Operation::kUpdate, Operation::kPut, Operation::kReadModifyWrite,
                                    Operation::kInsert, Operation::kScan})
    EXPECT_EQ(shares.has(operation), operation == Operation::kInsert) << name(operation);
}

TEST(YcsbShares, ThirdsAddUpToAll) {
  EXPECT_TRUE(parse_shares("read=33.3333333,put=33.3333333,rmw=33.3333333").ok());
  EXPECT_FALSE(parse_shares("read=33.333,put=33.333,rmw=33.333").ok());
}

TEST(YcsbShares, EveryMixIsANameForShares) {
  for (const Mix& mix : mixes()) {
    const Result<Shares> read = parse_shares(to_text(mix.shares));
    ASSERT_TRUE(read.ok()) << mix.name << ": " << read.status().message();
    EXPECT_EQ(*read, mix.shares) << mix.name;
  }
  EXPECT_EQ(to_text(mixes().front().shares), "read=80,rmw=20");
  EXPECT_EQ(to_text({{0.5, 0, 0, 0, 0, 99.5}}), "read=0.5,scan=99.5");
}

TEST(YcsbShares, ErrorsNameTheWordAndWhatWasExpected) {
  EXPECT_EQ(refusal("read=50,write=50"),
            "--shares=read=50,write=50: 'write': expected one of read, update, put, rmw, insert, scan");
  EXPECT_EQ(refusal("read=50,=50"), "--shares=read=50,=50: '': expected one of read, update, put, rmw, insert, scan");
  EXPECT_EQ(refusal("read=40,update=20,read=40"), "--shares=read=40,update=20,read=40: 'read=40' is named twice");
  EXPECT_EQ(refusal("read=50,read=30,put=20"), "--shares=read=50,read=30,put=20: 'read' is named twice");
  EXPECT_EQ(refusal("read=100,"), "--shares=read=100,: a name is missing beside a comma");
  EXPECT_EQ(refusal("read=50,update=40"), "--shares=read=50,update=40: the percentages add up to 90, expected 100");
  EXPECT_EQ(refusal(""), "--shares=: the percentages add up to 0, expected 100");
  for (const std::string word : {"read", "read=", "read=x", "read=-1", "read=101", "read=1e2", "read=0x64", "read=nan",
                                 "read=inf", "read= 100", "read=+100", "read=100%", "read=100=100"}) {
    EXPECT_EQ(refusal(word),
              "--shares=" + word + ": '" + word + "': expected a percentage of 0 to 100, such as read=50");
  }
}

}  // namespace
}  // namespace granary::bench::ycsb
