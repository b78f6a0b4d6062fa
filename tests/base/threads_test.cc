// Threads that the system may refuse. Where a real process is refused them: tests/node/refused_threads.sh.

#include "src/base/threads.h"

#include <atomic>
#include <filesystem>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/with_memory.h"

namespace granary::base {
namespace {

TEST(Threads, ShareOutCallsEachOnce) {
  for (const unsigned count : {0U, 1U, 5U}) {
    std::vector<std::atomic<int>> calls(count);
    share_out(count, [&](unsigned i) { calls[i].fetch_add(1, std::memory_order_relaxed); });
    for (const std::atomic<int>& one : calls) EXPECT_EQ(one.load(std::memory_order_relaxed), 1) << count;
  }
}

TEST(Threads, ShareOutThrowsWhatACallHasThrownWhenAllHaveEnded) {
  for (const unsigned throws : {0U, 1U, 4U}) {
    std::atomic<int> others{0};
    const auto work = [&](unsigned i) {
      if (i == throws) throw std::bad_alloc();
      others.fetch_add(1, std::memory_order_relaxed);
    };
    EXPECT_EQ(with_memory([&]() -> Status {
                share_out(5, work);
                return {};
              }).code(),
              StatusCode::kResourceExhausted);
    EXPECT_EQ(others.load(std::memory_order_relaxed), 4) << throws;
  }
}

TEST(Threads, ARefusalIsAStatus) {
  const Status refused = with_threads(
      []() -> Status { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)); });
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(with_threads([] { return Status(); }).ok());
}

/// It is no matter of threads, and must not be told as one.
TEST(Threads, AnotherErrorIsNotTakenForARefusal) {
  const auto look = []() -> Status {
    (void)std::filesystem::file_size("/nowhere");
    return {};
  };
  EXPECT_THROW((void)with_threads(look), std::filesystem::filesystem_error);
}

}  // namespace
}  // namespace granary::base
