// What is the local board's own: files, and how soon a death is seen.

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster_config/membership/local/heartbeat.h"
#include "cluster_config/membership/local/local_board.h"
#include "cluster_config/membership/local/membership_files.h"
#include "src/base/sanitizers.h"
#include "tests/cluster_config/membership/world.h"
#include "tests/support/crash_child.h"
#include "tests/support/paused_child.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

using granary::tests::CrashChild;
using granary::tests::PausedChild;
using granary::tests::TemporaryDirectory;

constexpr std::uint64_t kTimeoutUs = 60'000'000;

MembershipFiles files_in(const TemporaryDirectory& directory) {
  Result<MembershipFiles> files = MembershipFiles::open(directory.path());
  EXPECT_TRUE(files.ok()) << files.status().message();
  return std::move(*files);
}

std::size_t drafts_in(const MembershipFiles& files) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(files.directory()))
    count += entry.path().filename().string().starts_with("draft") ? 1 : 0;
  return count;
}

TEST(MembershipFiles, OneOfTwoChangesIsMade) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  EXPECT_EQ(files.newest().status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(*files.add(0, "first", 1));
  EXPECT_FALSE(*files.add(0, "late", 2));
  EXPECT_TRUE(*files.add(1, "second", 2));
  EXPECT_EQ(files.newest()->version, 2u);
  EXPECT_EQ(files.newest()->text, "second");
  EXPECT_EQ(drafts_in(files), 0u) << "who comes too late leaves nothing";
}

TEST(MembershipFiles, WhoWasStoppedForLongChangesNothing) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  const Result<int> stopped = files.lock_mark(2, "stopped");
  const Result<int> busy = files.lock_mark(1, "busy");
  ASSERT_TRUE(stopped.ok() && busy.ok());
  for (std::uint64_t version = 0; version < 5; ++version) ASSERT_TRUE(*files.add(version, "text", 1));
  for (std::uint64_t version = 0; version < 5; ++version) EXPECT_FALSE(*files.add(version, "late", 2));
  EXPECT_EQ(files.newest()->version, 5u);
  EXPECT_EQ(files.newest()->text, "text");
  ::close(*stopped);
  ASSERT_TRUE(*files.add(5, "last", 1));
  EXPECT_EQ(files.newest()->text, "last");
  int documents = 0;
  for (const auto& entry : std::filesystem::directory_iterator(files.directory())) {
    documents += entry.path().filename().string().starts_with("configuration.") ? 1 : 0;
  }
  EXPECT_EQ(documents, 1) << "who is alone removes the old ones";
  ::close(*busy);
}

TEST(MembershipFiles, MayLoseTheirBytesInAPowerLoss) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  for (std::uint64_t version = 0; version < 4; ++version)
    ASSERT_TRUE(*files.add(version, fmt::format("text {}", version + 1), 1));
  const auto lose = [&](int version, const std::string& left) {
    std::ofstream(fmt::format("{}/configuration.{}", files.directory(), version), std::ios::trunc) << left;
  };
  lose(4, "");
  lose(3, std::string(6, '\0'));
  EXPECT_EQ(files.newest()->text, "text 2");
  EXPECT_EQ(files.newest()->version, 4u);
  EXPECT_TRUE(*files.add(4, "text 5", 1));
  EXPECT_EQ(files.newest()->text, "text 5");
}

/// A recovery that fails for good is tried again and again, and claims what it recovers each time.
TEST(MembershipFiles, DoNotBecomeMoreAndMore) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  const Result<int> first = files.lock_mark(1, "first"), second = files.lock_mark(2, "second");
  ASSERT_TRUE(first.ok() && second.ok());
  constexpr std::uint64_t kLast = 2 * MembershipFiles::kKept;
  for (std::uint64_t version = 0; version < kLast; ++version) ASSERT_TRUE(*files.add(version, "text", 1));
  const auto entries = [&] { return std::distance(std::filesystem::directory_iterator(files.directory()), {}); };
  const auto before = entries();
  EXPECT_LT(before, std::ptrdiff_t{MembershipFiles::kKept} + 10);
  for (const std::uint64_t removed : {std::uint64_t{0}, std::uint64_t{1}, kLast / 2 - 2, kLast / 2 - 1})
    EXPECT_FALSE(*files.add(removed, "late", 2)) << "a process that was stopped for long changes nothing";
  EXPECT_EQ(entries(), before) << "nor does it leave anything";
  EXPECT_EQ(files.newest()->version, kLast);
  EXPECT_TRUE(*files.add(kLast, "next", 2));
  ::close(*first);
  ::close(*second);
}

/// Before a node has its mark the files do not know its number, and two may write at once.
TEST(MembershipFiles, WritersDoNotMixWhatTheyWrite) {
  constexpr unsigned kWriters = 4;
  constexpr std::uint64_t kEach = 50;
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  std::atomic<std::uint64_t> added = 0;
  std::vector<std::thread> threads;
  for (unsigned writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, text = std::string(2000, static_cast<char>('a' + writer))] {
      for (std::uint64_t mine = 0; mine < kEach;) {
        const auto before = files.newest();
        const std::uint64_t version = before.ok() ? before->version : 0;
        if (before.ok()) {
          ASSERT_EQ(before->text, std::string(2000, before->text.front())) << "of two writers";
        }
        const auto done = files.add(version, text, 0);
        ASSERT_TRUE(done.ok()) << done.status().message();
        if (!*done) continue;
        ++mine;
        ++added;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files.newest()->version, added.load());
  EXPECT_EQ(drafts_in(files), 0u);
}

TEST(MembershipFiles, AreTheirUsersAlone) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  ASSERT_TRUE(*files.add(0, "text", 0));
  struct stat status {};
  ASSERT_EQ(::stat(files.directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(files.directory().c_str(), 0755), 0);
  const Result<MembershipFiles> again = MembershipFiles::open(directory.path());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(again.status().message(), testing::HasSubstr("chmod 700"));
}

TEST(MembershipFiles, AMarkIsNotKeptByAChild) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  const Result<int> mark = files.lock_mark(1, "somebody");
  ASSERT_TRUE(mark.ok());
  const PausedChild child;
  MembershipFiles::unlock_mark(*mark, ::getpid());
  EXPECT_TRUE(files.locked_marks()->empty());
  const Result<int> again = files.lock_mark(1, "its next life");
  ASSERT_TRUE(again.ok()) << again.status().message();
  MembershipFiles::unlock_mark(*again, ::getpid());
}

TEST(MembershipFiles, AMarkIsNotGivenUpByAChild) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  const Result<int> mark = files.lock_mark(1, "somebody");
  ASSERT_TRUE(mark.ok());
  const pid_t taker = ::getpid(), child = ::fork();
  if (child == 0) {
    MembershipFiles::unlock_mark(*mark, taker);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(*files.locked_marks(), testing::ElementsAre(1));
  MembershipFiles::unlock_mark(*mark, taker);
}

TEST(MembershipFiles, StrangeFilesAreNoMarks) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  for (const char* name :
       {"node-.alive", "node-x.alive", "node-70000.alive", "node-1.alive.old", "configuration.", "configuration.1x"}) {
    std::ofstream(files.directory() + "/" + name) << "text";
  }
  EXPECT_TRUE(files.locked_marks()->empty());
  EXPECT_EQ(files.newest().status().code(), StatusCode::kNotFound);
}

/// A program may fork while it is a member, and its child may outlive the membership.
TEST(LocalBoard, AMemberThatLeavesIsGoneThoughAChildOfItsProcessLives) {
  const TemporaryDirectory directory;
  Result<std::unique_ptr<Board>> left = open_local_board(directory.path(), kTimeoutUs);
  Result<std::unique_ptr<Board>> other = open_local_board(directory.path(), kTimeoutUs);
  ASSERT_TRUE(left.ok() && other.ok());
  ASSERT_TRUE((*left)->mark(1, "somebody").ok());
  const PausedChild child;
  ASSERT_TRUE((*left)->unmark().ok());
  EXPECT_TRUE((*other)->marks()->nodes.empty());
  ASSERT_TRUE((*left)->mark(1, "its next life").ok());
  left->reset();
  EXPECT_TRUE((*other)->marks()->nodes.empty());
}

TEST(LocalBoard, WhatCannotBeAskedIsNoDeath) {
  const TemporaryDirectory directory;
  Result<std::unique_ptr<Board>> first = open_local_board(directory.path(), kTimeoutUs);
  Result<std::unique_ptr<Board>> second = open_local_board(directory.path(), kTimeoutUs);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE((*first)->mark(1, "somebody").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<Marks> unasked = (*second)->marks();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(unasked.ok());
  EXPECT_EQ((*second)->marks()->nodes, std::vector<NodeId>{1});
}

TEST(MembershipFiles, AMarkThatCannotBeReadIsAnError) {
  const TemporaryDirectory directory;
  const MembershipFiles files = files_in(directory);
  std::filesystem::create_symlink("node-5.alive", files.directory() + "/node-5.alive");  // to itself
  EXPECT_FALSE(files.locked_marks().ok());
}

/// Before the member itself has looked at anything.
TEST(LocalBoard, TheFenceOfACondemnedNodeIsShutAtOnce) {
  const TemporaryDirectory directory;
  const auto member =
      Membership::join(open_local_board(directory.path(), kTimeoutUs).value(), options_of(0), {}).value();
  const std::uint64_t version = member->fence().number();
  EXPECT_TRUE(member->fence().open(version));
  Heartbeat watched = Heartbeat::reach(files_in(directory).heartbeat(0)).value();
  while (!watched.condemn(watched.word())) {
  }  // it may beat meanwhile
  EXPECT_FALSE(member->fence().open(version));
  member->step(0);
  EXPECT_EQ(member->status().code(), StatusCode::kMembershipLost);
  EXPECT_THAT(member->status().message(), testing::HasSubstr("stood still for 60000 ms"));
}

/// A watcher that was itself away, as after a suspension of the machine, gives a stopped node its whole time again.
TEST(LocalBoard, AWatcherThatStoodStillCountsFromAnew) {
  constexpr std::uint64_t kBrief_us = 400'000;
  const TemporaryDirectory directory;
  CrashChild stopped([&](const CrashChild::Report& report) {
    const auto board = open_local_board(directory.path(), kBrief_us).value();
    if (board->mark(0, "stopped").ok()) report("marked");
    while (true) ::pause();
  });
  ASSERT_TRUE(stopped.run_until("marked"));
  stopped.signal(SIGSTOP);
  ASSERT_TRUE(stopped.wait_until_stopped());
  const auto watcher = open_local_board(directory.path(), kBrief_us).value();
  EXPECT_EQ(watcher->marks()->nodes, std::vector<NodeId>{0});
  std::this_thread::sleep_for(std::chrono::microseconds(2 * kBrief_us));
  EXPECT_EQ(watcher->marks()->nodes, std::vector<NodeId>{0});
  std::uint64_t looks = 0;
  for (; !watcher->marks()->nodes.empty(); ++looks) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(looks, 1u) << "and then it is removed";
}

/// Of which a membership thread that is busy with something must not make one.
TEST_F(MembershipSuite, AMemberThatDoesNotStepIsNoneThatStandsStill) {
  world().set_timeout_us(1'000'000);
  Result<std::unique_ptr<Membership>> busy = Membership::join(world().open().value(), options_of(0), {});
  ASSERT_TRUE(busy.ok());
  Node one(world(), 1);
  EXPECT_FALSE(one->wait_until([](const Configuration& found) { return !found.lives(0); }, 1'500'000));
}

TEST(LocalBoard, AMissingDirectoryIsNamed) {
  const Result<std::unique_ptr<Board>> board = open_local_board("/nowhere/at/all", kTimeoutUs);
  ASSERT_FALSE(board.ok());
  EXPECT_THAT(board.status().message(), testing::HasSubstr("/nowhere/at/all"));
}

TEST_F(MembershipSuite, ALocalMemberIsValidWhileItsProcessLives) {
  Node node(world(), 0);
  EXPECT_EQ(node->fence().valid_until_us(), kForever);
}

TEST_F(MembershipSuite, ADeathOnOneHostIsSeenWithin10Milliseconds) {
  if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "sanitizers are too slow for that";
  constexpr int kRounds = 50;  // of which one must succeed: others may have the processors
  std::uint64_t best_us = kForever;
  for (int round = 0; round < kRounds && best_us > 10'000; ++round) {
    CrashChild child([this](const CrashChild::Report& report) {
      Node node(world(), 0);
      report("joined");
      while (true) ::pause();
    });
    ASSERT_TRUE(child.run_until("joined"));
    Node one(world(), 1);
    ASSERT_TRUE(one.sees(0, MemberState::kJoining));
    child.kill();
    const std::uint64_t killed_us = lifetime_us();  // the system has ended it
    ASSERT_TRUE(one.sees(0, MemberState::kDead));
    best_us = std::min(best_us, lifetime_us() - killed_us);
  }
  EXPECT_LE(best_us, 10'000u);
}

}  // namespace
}  // namespace granary::membership::tests
