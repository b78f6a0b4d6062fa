// Which bodies a region is opened for, after so many that have committed and so many that were in vain.

#include "htm/forecast.h"

#include <gtest/gtest.h>

namespace granary::htm {
namespace {

class ForecastTest : public testing::Test {
 protected:
  /// How often in a row it says no.
  int left_out(const void* body) {
    int times = 0;
    while (!forecast_.is_worth_it(body)) ++times;
    return times;
  }

  // Two bodies whose addresses have entries of their own.
  alignas(32) std::array<char, 32> code_{};
  const void* const small_ = &code_[0];
  const void* const large_ = &code_[16];
  Forecast forecast_;
};

TEST_F(ForecastTest, AnyBodyIsTriedAtFirst) { EXPECT_TRUE(forecast_.is_worth_it(small_)); }

TEST_F(ForecastTest, ABodyThatIsAlwaysInVainIsTriedRarely) {
  for (const int expected : {1, 3, 7, 15, 31, 63, 63, 63}) {
    forecast_.was_in_vain(large_);
    EXPECT_EQ(left_out(large_), expected);
  }
}

TEST_F(ForecastTest, OtherBodiesAreNotConcerned) {
  for (int i = 0; i < 5; ++i) forecast_.was_in_vain(large_);
  EXPECT_TRUE(forecast_.is_worth_it(small_));
}

TEST_F(ForecastTest, OneThatFitsAgainIsTriedAsEver) {
  for (int i = 0; i < 10; ++i) forecast_.was_in_vain(large_);
  (void)left_out(large_);
  for (int i = 0; i < 6; ++i) forecast_.has_committed(large_);
  forecast_.was_in_vain(large_);
  EXPECT_EQ(left_out(large_), 1);
}

}  // namespace
}  // namespace granary::htm
