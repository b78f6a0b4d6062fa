// Results: whoever takes the value of an error ends with its message, in every build.

#include <granary/status.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace granary {
namespace {

TEST(ResultDeathTest, TheValueOfAnErrorEndsTheProgramWithItsMessage) {
  const Result<int> number(Status(StatusCode::kUnavailable, "the disk is away"));
  Result<std::string> text(Status(StatusCode::kNotFound, "there is no table 't'"));
  EXPECT_EXIT((void)number.value(), testing::KilledBySignal(SIGABRT), "granary: .*: the disk is away");
  EXPECT_EXIT((void)*number, testing::KilledBySignal(SIGABRT), "the disk is away");
  EXPECT_EXIT((void)text->size(), testing::KilledBySignal(SIGABRT), "there is no table 't'");
  EXPECT_EXIT((void)std::move(text).value(), testing::KilledBySignal(SIGABRT), "there is no table 't'");
}

TEST(Result, GivesItsValue) {
  Result<std::unique_ptr<int>> made(std::make_unique<int>(7));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made.value(), 7);
  const std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace granary
