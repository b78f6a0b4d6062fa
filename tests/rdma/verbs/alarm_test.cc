// Alarms, for which no device is needed.

#include "rdma/verbs/alarm.h"

#include <poll.h>
#include <sys/resource.h>

#include <gmock/gmock.h>

namespace granary::rdma::verbs {
namespace {

bool is_raised(const Alarm& alarm) {
  pollfd waiting{.fd = alarm.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) == 1;
}

TEST(Alarm, IsReadableUntilItIsCleared) {
  const Alarm alarm = Alarm::open().value();
  EXPECT_FALSE(is_raised(alarm));
  alarm.raise();
  alarm.raise();
  EXPECT_TRUE(is_raised(alarm));
  alarm.clear();
  EXPECT_FALSE(is_raised(alarm));
  alarm.clear();
}

TEST(Alarm, OfAProcessThatMayOpenNoFilesIsAnError) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<Alarm> alarm = Alarm::open();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(alarm.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(alarm.status().message(), testing::HasSubstr("cannot make an eventfd: Too many open files"));
}

}  // namespace
}  // namespace granary::rdma::verbs
