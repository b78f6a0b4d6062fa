// The time line of a run, as its nodes write it and who has started them reads it.

#include "bench/harness/time_line.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "bench/harness/life_account_json.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench {
namespace {

constexpr std::uint64_t kBegin = 1'000'000'000;

class TimeLineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TimeLine::make({.nodes = 3, .workers = 2, .victim = 1, .returns = 1, .ticks = 10});
    ASSERT_TRUE(made.ok()) << made.status().message();
    line_ = std::move(*made);
  }
  static std::uint64_t in_tick(std::uint64_t tick) { return kBegin + tick * kTickNs + 1; }

  std::unique_ptr<TimeLine> line_;
};

TEST_F(TimeLineTest, CountsHowRequestsEnded) {
  line_->begin(kBegin);
  WorkerTrack first(*line_, 0, 0), second(*line_, 0, 1);
  first.note(in_tick(3), true, 0, 2);
  second.note(in_tick(3), true, 0b100, 1);
  second.note(in_tick(3), true, 0b110, 0);
  second.note(in_tick(4), false, 0b010, 1);
  EXPECT_EQ(line_->count(0, 3, TickCount::kHere), 1u);
  EXPECT_EQ(line_->count(0, 3, TickCount::kElsewhere), 1u);
  EXPECT_EQ(line_->count(0, 3, TickCount::kVictim), 1u);
  EXPECT_EQ(line_->count(0, 3, TickCount::kAborted), 3u);
  EXPECT_EQ(line_->count(0, 3, TickCount::kGaveUp), 0u);
  EXPECT_EQ(line_->count(0, 4, TickCount::kGaveUp), 1u);
  EXPECT_EQ(line_->count(1, 3, TickCount::kHere), 0u);
}

TEST_F(TimeLineTest, WhatIsOutsideTheWindowIsNotCounted) {
  WorkerTrack track(*line_, 2, 0);
  track.note(in_tick(1), true, 0, 0);  // nobody has said when it begins
  line_->begin(kBegin);
  track.note(kBegin - 1, true, 0, 0);
  track.note(in_tick(10), true, 0, 0);
  line_->note_released(2, in_tick(10));
  for (std::uint64_t tick = 0; tick < 10; ++tick) EXPECT_EQ(line_->count(2, tick, TickCount::kHere), 0u);
}

TEST_F(TimeLineTest, TellsWhenTheVictimWasUsedAgain) {
  line_->begin(kBegin);
  WorkerTrack first(*line_, 0, 0), second(*line_, 0, 1);
  first.note(in_tick(1), true, 0b010, 0);
  EXPECT_EQ(line_->victim_used_ns(0), 0u) << "that was before";
  line_->note_restart(in_tick(2));
  first.note(in_tick(3), false, 0b010, 0);
  first.note(in_tick(4), true, 0b100, 0);
  EXPECT_EQ(line_->victim_used_ns(0), 0u);
  first.note(in_tick(6), true, 0b010, 0);
  second.note(in_tick(5), true, 0b010, 0);
  second.note(in_tick(7), true, 0b010, 0);
  EXPECT_EQ(line_->victim_used_ns(0), in_tick(5));
  EXPECT_EQ(line_->victim_used_ns(2), 0u);
}

TEST_F(TimeLineTest, KeepsTheFirstReleaseOfATick) {
  line_->begin(kBegin);
  line_->note_released(2, in_tick(5));
  line_->note_released(2, in_tick(5) + 10);
  EXPECT_EQ(line_->released_ns(2, 5), in_tick(5));
  EXPECT_EQ(line_->released_ns(2, 6), 0u);
  EXPECT_EQ(line_->released_ns(0, 5), 0u);
}

TEST_F(TimeLineTest, EachLifeOfTheVictimHasAnAccount) {
  line_->account(1).workers[0].changed[0] = 7;
  EXPECT_FALSE(line_->returned(1));
  line_->note_restart(in_tick(2));
  EXPECT_TRUE(line_->returned(1));
  EXPECT_FALSE(line_->returned(0));
  EXPECT_EQ(line_->account(1).workers[0].changed[0], 0u);
  EXPECT_EQ(line_->lost_account().workers[0].changed[0], 7u);
}

/// Another process writes at its own mapping and is killed.
TEST_F(TimeLineTest, OutlivesAKilledProcess) {
  line_->begin(kBegin);
  const pid_t child = fork();
  if (child == 0) {
    const auto mapped = TimeLine::at(dup(line_->descriptor()));
    if (!mapped.ok()) _exit(1);
    WorkerTrack((**mapped), 1, 1).note(in_tick(9), true, 0, 0);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(line_->count(1, 9, TickCount::kHere), 1u);
}

TEST(TimeLineAt, WhatIsNoTimeLineIsRefused) {
  EXPECT_EQ(TimeLine::at(-1).status().code(), StatusCode::kInvalidArgument);
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(TimeLine::at(ends[0]).status().code(), StatusCode::kInvalidArgument);
  close(ends[0]);
  close(ends[1]);
  std::FILE* const file = std::tmpfile();
  ASSERT_EQ(ftruncate(fileno(file), 100'000), 0);
  EXPECT_EQ(TimeLine::at(dup(fileno(file))).status().code(), StatusCode::kInvalidArgument);
  std::fclose(file);
}

/// A node that is started by hand has it in a file.
class TimeLineInAFile : public testing::Test {
 protected:
  static constexpr TimeLineShape kShape{.nodes = 2, .workers = 1, .victim = 1, .returns = 1, .ticks = 10};
  Result<std::unique_ptr<TimeLine>> open(const TimeLineShape& shape = kShape) {
    return TimeLine::in_file(path_, shape);
  }
  void expect_refused(StatusCode code, const std::string& why, const TimeLineShape& shape = kShape) {
    const Status status = open(shape).status();
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
  }

  const tests::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/account";
};

TEST_F(TimeLineInAFile, TheNextLifeFindsWhatTheKilledOneHadDone) {
  {
    const auto first = open().value();
    EXPECT_FALSE(first->returned(1));
    first->begin(kBegin);
    first->account(1).sums = 1;
    first->account(1).workers[0].changed[0] = 5;
  }
  const auto next = open().value();
  EXPECT_TRUE(next->returned(1));
  EXPECT_EQ(next->begins_ns(), kBegin);
  EXPECT_EQ(next->lost_account().workers[0].changed[0], 5u);
  next->account(1).workers[0].changed[0] = 7;
  EXPECT_EQ(next->lost_account().workers[0].changed[0], 5u) << "that is the next life's";
  next->remove_file();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TimeLineInAFile, IsRefusedIfItIsNotOfThisRun) {
  { open().value()->begin(kBegin); }
  TimeLineShape other = kShape;
  other.ticks = 11;
  expect_refused(StatusCode::kFailedPrecondition, "other flags", other);
  other = kShape;
  other.victim = 0;
  expect_refused(StatusCode::kFailedPrecondition, "other flags", other);
  std::ofstream(path_) << "something else";
  expect_refused(StatusCode::kFailedPrecondition, "other flags");
}

TEST_F(TimeLineInAFile, IsRefusedIfNobodyCanTakeThatLifesPlace) {
  { (void)open().value(); }
  expect_refused(StatusCode::kFailedPrecondition, "killed before its requests were measured");
  std::filesystem::remove(path_);
  { open().value()->begin(kBegin); }
  { (void)open().value(); }
  expect_refused(StatusCode::kFailedPrecondition, "started again once before");
}

TEST_F(TimeLineInAFile, IsRefusedWhileAProcessHasItOrItCannotBeMade) {
  const auto first = open().value();
  expect_refused(StatusCode::kUnavailable, "another process has it");
  EXPECT_EQ(TimeLine::in_file(directory_.path() + "/none/account", kShape).status().code(), StatusCode::kUnavailable);
}

TEST(LifeAccountJson, SaysAllThatAnAccountHas) {
  LifeAccount life;
  life.sums = 2;
  life.loaded[0] = 100;
  life.workers[0].changed[1] = static_cast<std::uint64_t>(-7);
  life.workers[15].open[0] = 3;
  const auto read = life_of(nlohmann::ordered_json::parse(life_json(life).dump()));
  EXPECT_EQ(read->sums, 2u);
  EXPECT_EQ(read->loaded[0], 100u);
  EXPECT_EQ(read->workers[0].changed[1], static_cast<std::uint64_t>(-7));
  EXPECT_EQ(read->workers[15].open[0], 3u);
  EXPECT_EQ(read->workers[1].open[0], 0u);
}

}  // namespace
}  // namespace granary::bench
