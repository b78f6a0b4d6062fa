// Processes of one host agree on the time, whatever has been done to their clocks.

#include "cluster_config/clock/host_source.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "cluster_config/clock/system_time.h"
#include "src/base/tsc_clock.h"

namespace granary::cluster_config::clock {
namespace {

constexpr int kNotPermitted = 77;
constexpr std::uint64_t kShiftSeconds = 100'000;

/// In a process whose monotonic clock is ahead; writes what the host's time is there.
[[noreturn]] void tell_shifted_time(int pipe, std::uint64_t unshifted_us) {
  if (::unshare(CLONE_NEWTIME) != 0) _exit(kNotPermitted);
  const int offsets = ::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
  const std::string shift = "monotonic " + std::to_string(kShiftSeconds) + " 0\n";
  if (::write(offsets, shift.data(), shift.size()) != static_cast<ssize_t>(shift.size())) _exit(kNotPermitted);
  if (HostSource::open().ok()) _exit(1);  // here the offsets are those of the children to come
  const pid_t child = ::fork();           // only children are in the new namespace
  if (child == 0) {
    Result<std::unique_ptr<HostSource>> source = HostSource::open();
    const bool shifted = base::monotonic_ns() / 1000 > unshifted_us + kShiftSeconds * 900'000;
    const std::uint64_t time_us = source.ok() && shifted ? (*source)->time_us() : 0;
    _exit(::write(pipe, &time_us, sizeof time_us) == sizeof time_us ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  _exit(WEXITSTATUS(status));
}

/// Daemons slew CLOCK_MONOTONIC, by up to 10 %. Where none has done so since the machine has started, this test cannot
/// tell it from the clock that is meant.
TEST(HostSource, IsTheClockThatNobodySlews) {
  std::ifstream offsets("/proc/self/timens_offsets");
  std::string clock;
  std::int64_t seconds = 0, nanoseconds = 0;
  offsets >> clock >> seconds >> nanoseconds;
  if (seconds != 0 || nanoseconds != 0) GTEST_SKIP() << "this process is in a shifted time namespace";
  const std::unique_ptr<HostSource> host = std::move(*HostSource::open());
  const std::int64_t before_us = system_ns(CLOCK_MONOTONIC_RAW) / 1000;
  const auto told_us = static_cast<std::int64_t>(host->time_us());
  const std::int64_t after_us = system_ns(CLOCK_MONOTONIC_RAW) / 1000;
  EXPECT_GE(told_us, before_us);
  EXPECT_LE(told_us, after_us);
}

TEST(HostSource, IsTheSameInAShiftedTimeNamespace) {
  const std::unique_ptr<HostSource> here = std::move(*HostSource::open());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::uint64_t before = here->time_us();
  const pid_t child = ::fork();
  if (child == 0) tell_shifted_time(ends[1], base::monotonic_ns() / 1000);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "no time namespaces here";
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::uint64_t there = 0;
  ASSERT_EQ(::read(ends[0], &there, sizeof there), static_cast<ssize_t>(sizeof there));
  EXPECT_GE(there, before);
  EXPECT_LE(there, here->time_us());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace granary::cluster_config::clock
