// Tests which HTM a database gets on this machine for what it asks, and which cause of an abort the status of XBEGIN
// tells.

#include "htm/support.h"

#include <gtest/gtest.h>

#include "htm/region.h"

namespace granary::htm {
namespace {

TEST(Support, OffIsOff) { EXPECT_EQ(Support::open(Htm::kOff).value()->backend(), Backend::kOff); }

TEST(Support, AutoIsWhatWorks) {
  EXPECT_EQ(Support::open(Htm::kAuto).value()->backend(), rtm_works() ? Backend::kRtm : Backend::kOff);
}

TEST(Support, RtmIsRefusedWhereItDoesNotRun) {
  const auto opened = Support::open(Htm::kRtm);
  EXPECT_EQ(opened.ok(), rtm_works());
  if (opened.ok()) return;
  EXPECT_EQ(opened.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(opened.status().message().find("kAuto"), std::string::npos) << opened.status().message();
}

TEST(Support, TheSimulationIsForTestBuilds) {
  const auto opened = Support::open(Htm::kSim);
  EXPECT_EQ(opened.ok(), base::kTestHooks);
  if (!opened.ok()) {
    EXPECT_EQ(opened.status().code(), StatusCode::kUnavailable);
  }
}

TEST(Support, NumbersOutOfRangeAreNamed) {
  const std::pair<HtmSimulation, const char*> wrong[] = {{{.sets = 0}, "sets is 0"},
                                                         {{.ways = 65}, "ways is 65"},
                                                         {{.lines = 0}, "lines is 0"},
                                                         {{.spurious_per_thousand = 1001}, "thousand is 1001"}};
  for (const auto& [simulation, text] : wrong) {
    const auto opened = Support::open(Htm::kSim, simulation);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(opened.status().message().find(text), std::string::npos) << opened.status().message();
  }
}

TEST(Support, AllWatchWhileOneSimulationLives) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  EXPECT_FALSE(base::lines::watched());
  {
    const auto one = Support::open(Htm::kSim).value();
    const auto off = Support::open(Htm::kOff).value();
    EXPECT_TRUE(base::lines::watched());
  }
  EXPECT_FALSE(base::lines::watched());
}

TEST(RtmStatus, TellsTheCause) {
  EXPECT_EQ(rtm_abort(0).cause, Cause::kOther);
  EXPECT_EQ(rtm_abort(_XABORT_RETRY).cause, Cause::kOther);
  EXPECT_EQ(rtm_abort(_XABORT_CONFLICT | _XABORT_RETRY).cause, Cause::kConflict);
  EXPECT_EQ(rtm_abort(_XABORT_CAPACITY).cause, Cause::kCapacity);
  const Attempt asked = rtm_abort(_XABORT_EXPLICIT | std::uint32_t{Verdict::give_up(5).bits()} << 24);
  EXPECT_EQ(asked.cause, Cause::kExplicit);
  EXPECT_EQ(asked.verdict.code(), 5);
  EXPECT_TRUE(asked.verdict.is_final());
}

TEST(Verdict, BitsTellAll) {
  EXPECT_TRUE(Verdict::done().is_done());
  for (std::uint8_t code = 0; code <= Verdict::kCodeMask; ++code) {
    for (const Verdict verdict : {Verdict::retry(code), Verdict::give_up(code)}) {
      EXPECT_FALSE(verdict.is_done());
      EXPECT_EQ(Verdict::from_bits(verdict.bits()).code(), code);
      EXPECT_LT(verdict.bits(), 32);
    }
    EXPECT_FALSE(Verdict::retry(code).is_final());
    EXPECT_TRUE(Verdict::give_up(code).is_final());
  }
}

}  // namespace
}  // namespace granary::htm
