// Every call that loggers make of the file system fails once, one after the other: D never covers what is not on the
// device, the failure is told with its path, and nothing is claimed after it although later calls succeed (fsyncgate).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/log/logger_rig.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

struct Case {
  const char* name;
  Fault fault;
};

class LoggerFault : public testing::TestWithParam<Case> {};

/// After the failure: whatever is done, D stands, the cause stays, and what D covers is on the device.
void see_that_it_stays_dead(LoggerRig& rig, base::Random& random, std::uint64_t seed) {
  const epoch::Epoch durable = rig.durable().current();
  const Status cause = rig.durable().cause();
  const std::uint64_t appends = rig.files().calls(FileCall::kAppend);
  EXPECT_EQ(rig.judge_power_loss(seed, 10), "");
  EXPECT_EQ(rig.judge_process_crash(), "");
  rig.files().clear_plan();
  for (int i = 0; i < 5; ++i) {
    rig.commit(random.below(rig.workers()), "after the failure");
    rig.advance();
  }
  EXPECT_TRUE(rig.durable().failed());
  EXPECT_EQ(rig.durable().current(), durable);
  EXPECT_EQ(rig.durable().cause().message(), cause.message());
  EXPECT_EQ(rig.files().calls(FileCall::kAppend), appends) << "it wrote on";
  EXPECT_EQ(rig.durable().wait(durable + 1).message(), cause.message());
  EXPECT_EQ(rig.judge_power_loss(seed + 1000, 10), "");
}

/// False once the fault's number is behind the last call.
bool fails_rightly(Fault fault, std::uint64_t seed, const RigOptions& options) {
  base::Random random(seed);
  LoggerRig rig(options);
  rig.files().plan(fault);
  const Status opened = rig.open();
  if (!opened.ok()) {
    EXPECT_EQ(opened.code(), fault.code);
    EXPECT_THAT(opened.message(), HasSubstr(LoggerRig::kDirectory));
    return true;
  }
  for (int i = 0; i < 60 && !rig.durable().failed(); ++i) run_at_random(rig, random, 1);
  for (int i = 0; i < 3 && !rig.durable().failed(); ++i) {
    for (std::size_t worker = 0; worker < rig.workers(); ++worker) {
      if (rig.is_open(worker)) rig.leave(worker);
    }
    rig.advance();
  }
  if (rig.files().faults_hit() == 0) return false;
  EXPECT_TRUE(rig.durable().failed());
  EXPECT_EQ(rig.durable().cause().code(), fault.code);
  EXPECT_THAT(rig.durable().cause().message(), HasSubstr(LoggerRig::kDirectory));
  see_that_it_stays_dead(rig, random, seed);
  return true;
}

TEST_P(LoggerFault, AtEveryCall) {
  std::uint64_t failed = 0;
  for (const std::uint64_t seed : seeds(scaled(4))) {
    for (const std::uint32_t loggers : {1u, 2u}) {
      Fault fault = GetParam().fault;
      const RigOptions options{.loggers = loggers, .segment_bytes = 800};
      for (fault.nth = 0; fails_rightly(fault, seed, options); ++fault.nth, ++failed)
        ASSERT_FALSE(HasFailure()) << "seed " << seed << ", " << loggers << " loggers, call " << fault.nth;
    }
  }
  if (all_seeds()) {
    EXPECT_GT(failed, 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Calls, LoggerFault,
    testing::Values(Case{"Append", {.call = FileCall::kAppend}},
                    Case{"AppendDiskFull", {.call = FileCall::kAppend, .code = StatusCode::kDiskFull, .written = 40}},
                    Case{"AppendShort", {.call = FileCall::kAppend, .written = 100}},
                    Case{"Sync", {.call = FileCall::kSync}},
                    Case{"SyncOncePagesLost", {.call = FileCall::kSync, .pages_lost = true}},
                    Case{"Create", {.call = FileCall::kCreate, .code = StatusCode::kDiskFull}},
                    Case{"SyncDirectory", {.call = FileCall::kSyncDirectory}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(LoggerFaults, ASyncThatFailedOnceIsNeverRetried) {
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  const epoch::Epoch before = rig.durable().current();
  rig.commit(0, "lost with its page");
  rig.files().plan({.call = FileCall::kSync, .pages_lost = true});
  const std::uint64_t syncs = rig.files().calls(FileCall::kSync);
  for (int i = 0; i < 5; ++i) rig.advance();
  EXPECT_EQ(rig.files().calls(FileCall::kSync), syncs + 1);
  EXPECT_EQ(rig.durable().current(), before);
  EXPECT_THAT(rig.durable().cause().message(), HasSubstr("cannot sync '/db/log/log-g00000003-l00-s00000000.glog'"));
}

TEST(LoggerFaults, OneFailedLoggerStopsAll) {
  LoggerRig rig({.loggers = 2});
  ASSERT_TRUE(rig.open().ok());
  rig.files().plan({.call = FileCall::kAppend, .path = "-l01-", .from_then_on = true});
  const epoch::Epoch before = rig.durable().current();
  for (int i = 0; i < 5; ++i) {
    rig.commit(0, "by logger 0, which is well");
    rig.advance();
  }
  EXPECT_EQ(rig.durable().current(), before);
  EXPECT_THAT(rig.durable().cause().message(), HasSubstr("-l01-"));
}

TEST(LoggerFaults, ADiskThatFillsUp) {
  LoggerRig rig({.loggers = 2, .segment_bytes = 800});
  rig.files().set_capacity(20'000);
  ASSERT_TRUE(rig.open().ok());
  base::Random random(3);
  for (int i = 0; i < 10'000 && !rig.durable().failed(); ++i) run_at_random(rig, random, 1);
  ASSERT_TRUE(rig.durable().failed());
  EXPECT_EQ(rig.durable().cause().code(), StatusCode::kDiskFull);
  rig.files().set_capacity(1 << 30);
  see_that_it_stays_dead(rig, random, 1);
}

/// The process may open no more files for a while. Nothing of the log is lost by that.
TEST(LoggerFaults, WithoutANextSegmentTheLogGoesOnInTheOldOne) {
  for (const std::uint64_t spares : {0u, 2u}) {
    SCOPED_TRACE(std::to_string(spares) + " spare segments");
    LoggerRig rig({.segment_bytes = 800, .spares = spares});
    ASSERT_TRUE(rig.open().ok());
    const auto fill = [&rig] {
      const epoch::Epoch before = rig.durable().current();
      rig.commit(0, std::string(900, 'v'));
      for (int i = 0; i < 2; ++i) rig.advance();
      EXPECT_FALSE(rig.durable().failed()) << rig.durable().cause().message();
      EXPECT_GT(rig.durable().current(), before);
    };
    const FileCall call = spares == 0 ? FileCall::kCreate : FileCall::kOpen;
    rig.files().plan({.call = call, .code = StatusCode::kUnavailable, .path = "/db/log/", .from_then_on = true});
    for (int i = 0; i < 3; ++i) fill();
    EXPECT_GT(rig.files().faults_hit(), 2u);
    EXPECT_EQ(rig.logger(0).segments(), 1u);
    EXPECT_EQ(rig.judge_power_loss(1, 10), "");
    EXPECT_EQ(rig.judge_process_crash(), "");
    rig.files().clear_plan();
    fill();
    EXPECT_EQ(rig.logger(0).segments(), 2u);
    EXPECT_EQ(rig.judge_power_loss(1000, 10), "");
    EXPECT_EQ(rig.judge_process_crash(), "");
  }
}

/// The user may make no files in the directory any more. That is told before a recovery would have to hold a segment of
/// any size in memory.
TEST(LoggerFaults, WithoutANextSegmentForLongTheLogFails) {
  constexpr std::uint64_t kSegmentBytes = 800;
  LoggerRig rig({.segment_bytes = kSegmentBytes});
  ASSERT_TRUE(rig.open().ok());
  rig.files().plan(
      {.call = FileCall::kCreate, .code = StatusCode::kUnavailable, .path = "/db/log/", .from_then_on = true});
  for (int i = 0; i < 20 && !rig.durable().failed(); ++i) {
    rig.commit(0, std::string(kSegmentBytes, 'v'));
    rig.advance();
  }
  ASSERT_TRUE(rig.durable().failed());
  EXPECT_EQ(rig.durable().cause().code(), StatusCode::kUnavailable);
  EXPECT_THAT(rig.durable().cause().message(), HasSubstr("log-g00000003-l00-s00000001.glog"));
  EXPECT_LT(rig.logger(0).end().offset, 10 * kSegmentBytes);
  base::Random random(1);
  see_that_it_stays_dead(rig, random, 1);
}

TEST(LoggerFaults, AFailedRemovalIsToldAndDoesNotStopTheLog) {
  LoggerRig rig({.segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  for (int i = 0; i < 3; ++i) {
    rig.commit(0, "value");
    rig.advance();
  }
  rig.files().plan({.call = FileCall::kRemove});
  EXPECT_EQ(rig.remove_until(rig.durable().current()).code(), StatusCode::kIoError);
  rig.files().plan({.call = FileCall::kSyncDirectory});
  EXPECT_EQ(rig.remove_until(rig.durable().current()).code(), StatusCode::kIoError);
  EXPECT_FALSE(rig.durable().failed());
  EXPECT_TRUE(rig.remove_until(rig.durable().current()).ok());
  EXPECT_EQ(rig.files().paths().size(), 1u);
  EXPECT_EQ(rig.judge_power_loss(1, 10), "");
}

}  // namespace
}  // namespace granary::tests
