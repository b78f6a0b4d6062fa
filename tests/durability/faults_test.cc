// Every call of the file system fails, one after the other, while a database opens, runs, takes checkpoints, recovers:
// the cause is told, writers stop if the log did, readers go on, and with healthy files everything that was released is
// there again.

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/log/format.h"
#include "tests/durability/crash_rig.h"
#include "tests/durability/ringed_directory.h"
#include "tests/support/manual_database.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Crash = CrashRig::Crash;

struct Case {
  const char* name;
  Fault fault;
};

class DatabaseFault : public testing::TestWithParam<Case> {};

void see_cause(const Status& failed, const Fault& fault) {
  EXPECT_EQ(failed.code(), fault.code) << failed.message();
  EXPECT_THAT(failed.message(), AnyOf(HasSubstr("'/db"), HasSubstr("'/log-")));
}

/// A database whose log has failed: it tells why, writes nothing, reads on.
void see_that_it_only_reads(CrashRig& rig, const Fault& fault) {
  see_cause(rig.database().log_status(), fault);
  EXPECT_EQ(rig.database().wait_released({.tid = 1, .epoch = rig.database().current_epoch() + 9}).message(),
            rig.database().log_status().message());
  EXPECT_EQ(rig.database().checkpoint().message(), rig.database().log_status().message());
  const State before = rig.read_all();
  EXPECT_EQ(rig.commit_one(), AbortReason::kLogFailed);
  EXPECT_EQ(difference(before, rig.read_all()), "");
  EXPECT_EQ(rig.verify(), "");
}

/// Opens, runs, takes checkpoints with the fault planned; false if it never struck.
bool fails_rightly(const Fault& fault, std::uint64_t seed, Crash crash) {
  CrashRig rig(seed);
  rig.files().plan(fault);
  const Status opened = rig.open();
  if (!opened.ok()) {
    see_cause(opened, fault);
    rig.files().clear_plan();
  } else {
    for (int i = 0; i < 4; ++i) {
      rig.act(50);
      const Status done = rig.checkpoint();
      if (!done.ok()) see_cause(done, fault);
      if (!done.ok() && rig.random().below(2) == 0) static_cast<void>(rig.checkpoint());  // as its caller would
    }
    if (!rig.database().log_status().ok()) see_that_it_only_reads(rig, fault);
  }
  const bool hit = rig.files().faults_hit() != 0;
  rig.crash(crash);
  const Status reopened = rig.open();
  EXPECT_TRUE(reopened.ok()) << reopened.message();
  if (!reopened.ok()) return false;
  EXPECT_EQ(rig.verify(), "");
  EXPECT_EQ(rig.commit_one(), AbortReason::kNone) << "the fault is gone";
  return hit;
}

TEST_P(DatabaseFault, WhileItRuns) {
  std::uint64_t failed = 0;
  for (const std::uint64_t seed : seeds(scaled(2))) {
    for (const Crash crash : {Crash::kPowerLoss, Crash::kProcess}) {
      Fault fault = GetParam().fault;
      for (fault.nth = 0; fails_rightly(fault, seed, crash); ++fault.nth, ++failed)
        ASSERT_FALSE(HasFailure()) << "seed " << seed << ", call " << fault.nth;
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", call " << fault.nth;
    }
  }
  if (all_seeds()) {
    EXPECT_GT(failed, 10u);
  }
}

/// Recovers with the fault planned, and once more without.
bool recovers_rightly(const Fault& fault, std::uint64_t seed, Crash crash) {
  CrashRig rig(seed);
  EXPECT_TRUE(rig.open().ok());
  rig.act(400);
  rig.crash(crash);
  if (crash == Crash::kPowerLoss) rig.look_ahead();
  rig.files().plan(fault);
  const Status opened = rig.open();
  const bool hit = rig.files().faults_hit() != 0;
  if (opened.ok()) {
    EXPECT_EQ(rig.verify(), "");
  } else {
    EXPECT_TRUE(hit) << opened.message();
    see_cause(opened, fault);
    rig.files().clear_plan();
    if (rig.random().below(2) == 0) rig.crash(Crash::kPowerLoss);  // else it is tried again at once
  }
  if (!opened.ok()) {
    const Status again = rig.open();
    EXPECT_TRUE(again.ok()) << again.message();
    if (again.ok()) {
      EXPECT_EQ(rig.verify(), "");
    }
  }
  return hit;
}

TEST_P(DatabaseFault, WhileItRecovers) {
  std::uint64_t failed = 0;
  for (const std::uint64_t seed : seeds(scaled(3))) {
    for (const Crash crash : {Crash::kPowerLoss, Crash::kProcess}) {
      Fault fault = GetParam().fault;
      for (fault.nth = 0; recovers_rightly(fault, seed, crash); ++fault.nth, ++failed)
        ASSERT_FALSE(HasFailure()) << "seed " << seed << ", call " << fault.nth;
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", call " << fault.nth;
    }
  }
  if (all_seeds()) {
    EXPECT_GT(failed, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Calls, DatabaseFault,
    testing::Values(Case{"Append", {.call = FileCall::kAppend}},
                    Case{"AppendDiskFull", {.call = FileCall::kAppend, .code = StatusCode::kDiskFull, .written = 40}},
                    Case{"Sync", {.call = FileCall::kSync}},
                    Case{"SyncOncePagesLost", {.call = FileCall::kSync, .pages_lost = true}},
                    Case{"Create", {.call = FileCall::kCreate, .code = StatusCode::kDiskFull}},
                    Case{"List", {.call = FileCall::kList}}, Case{"Rename", {.call = FileCall::kRename}},
                    Case{"Remove", {.call = FileCall::kRemove}},
                    Case{"SyncDirectory", {.call = FileCall::kSyncDirectory}},
                    Case{"SyncDirectoryOnceNamesLost", {.call = FileCall::kSyncDirectory, .pages_lost = true}}),
    [](const auto& instance) { return std::string(instance.param.name); });

/// Reading fails while it recovers, and only then.
class RecoveryFault : public testing::TestWithParam<FileCall> {};

TEST_P(RecoveryFault, WhileItReads) {
  for (const Crash crash : {Crash::kPowerLoss, Crash::kProcess}) {
    Fault fault{.call = GetParam()};
    for (fault.nth = 0; recovers_rightly(fault, 5, crash); ++fault.nth)
      ASSERT_FALSE(HasFailure()) << "call " << fault.nth;
    EXPECT_GT(fault.nth, 1u);
  }
}
INSTANTIATE_TEST_SUITE_P(Calls, RecoveryFault, testing::Values(FileCall::kRead, FileCall::kOpen));

// A checkpoint that fails anywhere leaves in force what was, for the next crash at any call of the next attempt.
TEST(CheckpointFault, IsRepeatedAndTheLightsGoOut) {
  for (const FileCall call : {FileCall::kSyncDirectory, FileCall::kRename, FileCall::kSync, FileCall::kRemove}) {
    for (std::uint64_t nth = 0; nth < 12; ++nth) {
      for (std::uint64_t later = 1; later <= 12; ++later) {
        SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " number " + std::to_string(nth) +
                     ", power lost " + std::to_string(later) + " calls later");
        CrashRig rig(100 * nth + later);
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        rig.act(100);
        rig.files().plan({.call = call, .nth = nth});
        const Status first = rig.checkpoint();
        rig.arm(Crash::kPowerLoss, later);
        static_cast<void>(rig.checkpoint());
        const bool last = !rig.crashed();
        rig.crash(Crash::kPowerLoss);
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        if (HasFailure()) return;
        if (first.ok() || last) break;
      }
    }
  }
}

/// Checkpoints in the directory, whole or not.
std::size_t checkpoints(CrashRig& rig) {
  std::size_t found = 0;
  const auto names = rig.files().list(CrashRig::kDirectory);
  for (const std::string& name : *names) found += name.starts_with("checkpoint-") ? 1 : 0;
  return found;
}

TEST(CheckpointFault, WhatItLeftGoesWithTheNextOpening) {
  std::size_t left = 0;
  for (std::uint64_t call = 1; call <= 14; ++call) {
    SCOPED_TRACE("power lost at call " + std::to_string(call));
    CrashRig rig(call);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    rig.act(200);
    rig.arm(Crash::kPowerLoss, call);
    static_cast<void>(rig.checkpoint());
    rig.crash(Crash::kPowerLoss);
    left += checkpoints(rig);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    EXPECT_LE(checkpoints(rig), 1u);
  }
  EXPECT_GT(left, 3u);
}

TEST(CheckpointFault, WhatCouldNotBeRemovedGoesWithTheNextOne) {
  std::uint64_t failed = 0;
  for (std::uint64_t nth = 0; nth < 8; ++nth) {
    CrashRig rig(nth);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    for (int i = 0; i < 3; ++i) {
      rig.act(200);
      if (i == 1) rig.files().plan({.call = FileCall::kRemove, .nth = nth});
      failed += rig.checkpoint().ok() ? 0 : 1;
    }
    EXPECT_LE(checkpoints(rig), 1u) << "removal " << nth << " failed";
  }
  EXPECT_GT(failed, 0u);
}

TEST(DatabaseFaults, ACopyThatWasToReplaceASegmentGoesWithTheNextOpening) {
  CrashRig rig(1);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  const auto& directories = rig.options().log_directories;
  const std::string unfinished = (directories.empty() ? CrashRig::kDirectory : directories.front()) + "/" +
                                 log::segment_name(1, 0, 1) + std::string(base::kAsideSuffix);
  ASSERT_TRUE(rig.files().create(unfinished).ok());
  rig.crash(Crash::kProcess);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  EXPECT_EQ(rig.files().open(unfinished).status().code(), StatusCode::kNotFound);
}

TEST(DatabaseFaults, ADiskThatFillsUpAndIsGivenRoomAgain) {
  for (const std::uint64_t seed : seeds(sampled(10))) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    rig.act(100);
    rig.files().set_capacity(50'000 + 10'000 * (seed % 8));
    for (int i = 0; i < 1000 && rig.database().log_status().ok(); ++i) rig.act(20);
    ASSERT_EQ(rig.database().log_status().code(), StatusCode::kDiskFull);
    EXPECT_EQ(rig.commit_one(), AbortReason::kLogFailed);
    rig.crash(seed % 2 == 0 ? Crash::kPowerLoss : Crash::kProcess);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    ASSERT_EQ(rig.commit_one(), AbortReason::kNone);
  }
}

// A sync failed, so the system shows bytes of the log that the device never got. The next process finds them, names
// them in its manifest, and then the lights go out.
TEST(DatabaseFaults, WhatTheDeviceNeverGotIsWrittenOnceMore) {
  for (const std::uint64_t seed : seeds(scaled(20))) {
    SCOPED_TRACE(seed);
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    rig.act(100);
    rig.files().plan({.call = FileCall::kSync, .nth = seed % 3, .path = "log-g", .pages_lost = true});
    for (int i = 0; i < 1000 && rig.database().log_status().ok(); ++i) rig.act(20);
    ASSERT_EQ(rig.database().log_status().code(), StatusCode::kIoError);
    rig.crash(Crash::kProcess);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    rig.crash(Crash::kPowerLoss);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  }
}

TEST(DatabaseFaults, AFailedLogTellsThoseWhoWait) {
  CrashRig rig(3);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  ASSERT_EQ(rig.commit_one(), AbortReason::kNone);
  const Ticket ticket = rig.last_ticket();
  rig.files().plan({.call = FileCall::kSync, .path = "log-g", .pages_lost = true});
  for (int i = 0; i < 4; ++i) rig.database().step();
  const Status waited = rig.database().wait_released(ticket);
  EXPECT_EQ(waited.code(), StatusCode::kIoError);
  EXPECT_THAT(waited.message(), HasSubstr("log-g"));
  EXPECT_LT(rig.database().released_epoch(), ticket.epoch);
}

/// With real threads: whoever waits for room in a ring or for durability is woken.
TEST(DatabaseFaults, WakesThoseWhoWaitInOtherThreads) {
  FaultFiles files;
  RingDirectory rings;
  auto database = Database::open(small_ring_options(rings), files);
  ASSERT_TRUE(database.ok()) << database.status().message();
  const Table table = (*database)->create_table("t").value();
  files.plan({.call = FileCall::kSync, .path = "log-g", .from_then_on = true});
  Ticket last;
  std::thread waiting([&] {
    const Status waited = (*database)->wait_released({.tid = 1, .epoch = ~std::uint64_t{0}});
    EXPECT_EQ(waited.code(), StatusCode::kIoError);
  });
  {
    Worker worker = (*database)->register_worker().value();
    AbortReason reason = AbortReason::kNone;
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (reason == AbortReason::kNone && std::chrono::steady_clock::now() < patience) {
      const RunResult done = worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); });
      reason = done.reason;
      if (done) last = done.ticket;
    }
    EXPECT_EQ(reason, AbortReason::kLogFailed);
    Transaction t = worker.begin();
    EXPECT_EQ(scan_text(t, table), "key=value ");
  }
  waiting.join();
  EXPECT_EQ((*database)->wait_released(last).code(), StatusCode::kIoError);
  EXPECT_EQ((*database)->checkpoint().code(), StatusCode::kIoError);
  EXPECT_EQ((*database)->close().code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace granary::tests
