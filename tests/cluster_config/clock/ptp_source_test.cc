// When a node counts as synchronized by PTP, against a ptp4l that says what it is told to. A real one is in
// ptp4l_test.cc.

#include "cluster_config/clock/ptp_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster_config/clock/fake_ptp4l.h"

namespace granary::cluster_config::clock {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMaxError = 20;
constexpr const char* kGrandmaster = "001122.fffe.334455";

class PtpSourceTest : public testing::Test {
 protected:
  PtpSourceTest() { ptp4l_->state.grandmaster = *ptp::parse_identity(kGrandmaster); }

  PtpOptions options() {
    return {.socket = path_, .grandmaster = kGrandmaster, .max_error_us = kMaxError, .discipline = [this] {
              return discipline_;
            }};
  }
  /// A question, its answers, and what follows from them.
  Bound ask() {
    now_us_ += 200'000;
    (void)source_->bound(now_us_);
    if (ptp4l_) ptp4l_->serve();
    return source_->bound(now_us_);
  }
  void expect_cause(const std::string& part) {
    const Bound bound = ask();
    EXPECT_FALSE(bound.delta_us);
    EXPECT_THAT(bound.cause, HasSubstr(part));
  }

  const std::string path_ = testing::TempDir() + "granary_ptp_" + std::to_string(::getpid());
  std::unique_ptr<ptp::FakePtp4l> ptp4l_ = std::make_unique<ptp::FakePtp4l>(path_);
  Discipline discipline_{.synchronized = true, .max_error_us = 100};
  std::unique_ptr<PtpSource> source_ = std::move(*PtpSource::open(options()));
  std::uint64_t now_us_ = 7'000'000;
};

TEST_F(PtpSourceTest, ASlaveInOrderIsWithinTwiceTheError) {
  const Bound first = source_->bound(now_us_);
  EXPECT_FALSE(first.delta_us) << "nothing is known yet";
  EXPECT_THAT(first.cause, HasSubstr("does not answer"));
  EXPECT_EQ(ask().delta_us, 2 * kMaxError);
}

TEST_F(PtpSourceTest, AsksSeveralTimesASecondAndNotAtEachStep) {
  (void)source_->bound(now_us_);
  EXPECT_EQ(ptp4l_->serve(), 3u);
  for (int i = 0; i < 199; ++i) (void)source_->bound(now_us_ += 1'000);
  EXPECT_EQ(ptp4l_->serve(), 0u);
  (void)source_->bound(now_us_ += 1'000);
  EXPECT_EQ(ptp4l_->serve(), 3u);
}

TEST_F(PtpSourceTest, AnOffsetOrPathThatIsTooLongIsRefused) {
  ptp4l_->state.path_delay_ns = 0;
  ptp4l_->state.offset_ns = 20'000;
  EXPECT_TRUE(ask().delta_us);
  ptp4l_->state.offset_ns = -20'500;
  expect_cause("off by up to 20.5 us");
  ptp4l_->state.offset_ns = 15'000;
  ptp4l_->state.path_delay_ns = 6'000;
  expect_cause("off by up to 21.0 us");
  ptp4l_->state.path_delay_ns = 5'000;
  EXPECT_TRUE(ask().delta_us);
}

TEST_F(PtpSourceTest, APortInAnyOtherStateIsRefused) {
  ptp4l_->state.port_states = {8};
  expect_cause("port 1 is UNCALIBRATED");
  ptp4l_->state.port_states = {1, 4};
  expect_cause("port 1 is INITIALIZING, port 2 is LISTENING");
  ptp4l_->state.port_states = {};
}

TEST_F(PtpSourceTest, OnePortOfABoundaryClockIsASlave) {
  ptp4l_->state.port_states = {ptp::kMaster, ptp::kSlave};
  EXPECT_TRUE(ask().delta_us);
}

TEST_F(PtpSourceTest, TheGrandmasterIsTheOneThatIsNamed) {
  ptp4l_->state.grandmaster[7] ^= 1;
  expect_cause("the grandmaster is 001122.fffe.334454, not 001122.fffe.334455");
}

TEST_F(PtpSourceTest, AMasterCountsOnlyIfItIsTheGrandmaster) {
  ptp4l_->state.port_states = {ptp::kMaster};
  ptp4l_->state.grandmaster_present = false;
  ptp4l_->state.steps_removed = 0;
  discipline_ = {};  // nobody steers a grandmaster
  EXPECT_EQ(ask().delta_us, 2 * kMaxError);
  ptp4l_->state.grandmaster[7] ^= 1;  // it has lost the one that is named, and elected itself
  expect_cause("port 1 is MASTER");
}

TEST_F(PtpSourceTest, AClockThatNobodySteersIsRefused) {
  discipline_.max_error_us = 5'001;
  expect_cause("phc2sys");
  discipline_ = {.synchronized = false, .max_error_us = 0};
  expect_cause("phc2sys");
}

TEST_F(PtpSourceTest, WithoutAnswersItIsRefusedAfterAWhile) {
  ASSERT_TRUE(ask().delta_us);
  ptp4l_.reset();
  EXPECT_TRUE(ask().delta_us) << "the last answers are fresh";
  for (int i = 0; i < 7; ++i) (void)ask();
  expect_cause("ptp4l cannot be reached at " + path_);
  ptp4l_ = std::make_unique<ptp::FakePtp4l>(path_);
  ptp4l_->state.grandmaster = *ptp::parse_identity(kGrandmaster);
  EXPECT_TRUE(ask().delta_us) << "and asked again once it is there";
}

TEST_F(PtpSourceTest, AnswersToEarlierQuestionsAreTooLate) {
  (void)source_->bound(now_us_);
  (void)source_->bound(now_us_ += 200'000);
  // The second round of questions is lost.
  ptp4l_->serve([&](std::vector<std::uint8_t>& answer) {
    if (answer[31] == 2) answer[31] = 1;
  });
  EXPECT_FALSE(source_->bound(now_us_).delta_us);
}

TEST_F(PtpSourceTest, ADamagedAnswerIsNone) {
  (void)source_->bound(now_us_);
  ptp4l_->serve([](std::vector<std::uint8_t>& answer) { answer.pop_back(); });
  EXPECT_FALSE(source_->bound(now_us_).delta_us);
}

/// ptp4l itself needs a while to find out.
TEST_F(PtpSourceTest, WhatWasKnownBeforeAJumpIsForgotten) {
  ASSERT_TRUE(ask().delta_us);
  source_->forget();
  for (int i = 0; i < 5; ++i) expect_cause("measuring it anew");
  EXPECT_TRUE(ask().delta_us);
}

TEST_F(PtpSourceTest, OptionsAreChecked) {
  PtpOptions wrong = options();
  wrong.grandmaster = "00:11:22";
  EXPECT_THAT(PtpSource::open(wrong).status().message(), HasSubstr("'00:11:22'"));
  wrong = options();
  wrong.max_error_us = 0;
  EXPECT_FALSE(PtpSource::open(wrong).ok());
}

}  // namespace
}  // namespace granary::cluster_config::clock
