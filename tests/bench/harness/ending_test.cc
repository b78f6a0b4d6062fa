// How a command ends that is interrupted: which signal ends it, and what it leaves behind. Not here: what a measurement
// or a node does when it is asked to end.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "bench/harness/fresh_database.h"
#include "bench/harness/stop_signals.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench {
namespace {

using std::chrono::milliseconds;

/// Runs the body in a process of its own, which ends with what it returns. Returns the wait status.
int ending_of(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(StopSignalsTest, ARepeatAtOnceIsTheSameRequest) {
  const int status = ending_of([] {
    StopSignals signals;
    signals.ask_first(true);
    for (int i = 0; i < 3; ++i) ::raise(SIGTERM);
    return signals.requested() ? 0 : 1;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(StopSignalsTest, AnotherOneAtOnceIsNot) {
  const int status = ending_of([] {
    StopSignals signals;
    signals.ask_first(true);
    ::raise(SIGTERM);
    ::raise(SIGINT);
    return 1;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
}

TEST(StopSignalsTest, ALaterOneEndsTheProcess) {
  const int status = ending_of([] {
    StopSignals signals;
    signals.ask_first(true);
    ::raise(SIGTERM);
    std::this_thread::sleep_for(milliseconds(600));
    ::raise(SIGTERM);
    return 1;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST(StopSignalsTest, BeforeAMeasurementTheFirstOneDoes) {
  const int status = ending_of([] {
    StopSignals signals;
    ::raise(SIGINT);
    return 1;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
}

TEST(ScratchDirectoryTest, GoesWithAProcessThatIsKilled) {
  const tests::TemporaryDirectory parent;
  const int status = ending_of([&] {
    const auto scratch = ScratchDirectory::make(parent.path());
    if (!scratch.ok()) return 1;
    std::filesystem::create_directories((*scratch)->path() + "/a/b");
    std::ofstream((*scratch)->path() + "/a/b/file") << "content";
    ::kill(::getpid(), SIGKILL);
    return 1;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::is_empty(parent.path()) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

TEST(ScratchDirectoryTest, StaysAfterAKillIfThatIsAskedFor) {
  const tests::TemporaryDirectory parent;
  const int status = ending_of([&] {
    const auto scratch = ScratchDirectory::make(parent.path(), WhenKilled::kKept);
    if (!scratch.ok()) return 1;
    std::ofstream((*scratch)->path() + "/history") << "content";
    ::kill(::getpid(), SIGKILL);
    return 1;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  std::this_thread::sleep_for(milliseconds(300));  // A Janitor would have removed it by then.
  EXPECT_FALSE(std::filesystem::is_empty(parent.path()));
}

TEST(ScratchDirectoryTest, IsGoneWhenItIsDestroyed) {
  const tests::TemporaryDirectory parent;
  for (const WhenKilled when_killed : {WhenKilled::kRemoved, WhenKilled::kKept}) {
    {
      const auto scratch = ScratchDirectory::make(parent.path(), when_killed);
      ASSERT_TRUE(scratch.ok());
      EXPECT_FALSE(std::filesystem::is_empty(parent.path()));
    }
    EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
  }
}

}  // namespace
}  // namespace granary::bench
