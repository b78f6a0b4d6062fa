#pragma once
// How long the threads or processes of a test run: until they have done what the test must see, however little of its
// time a busy machine gives them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <thread>

#include <gtest/gtest.h>

namespace granary::tests {

/// Sleeps for `time`, and then on until `enough()`, but for a minute more at most.
template <typename Enough>
void sleep_until_enough(std::chrono::milliseconds time, Enough&& enough) {
  std::this_thread::sleep_for(time);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!enough() && !testing::Test::HasFatalFailure() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

/// Whether each counter is above its bound, as the expectations behind a run of threads have it.
struct Above {
  const std::atomic<std::uint64_t>& counter;
  std::uint64_t bound;
};
[[nodiscard]] inline bool are_above(std::initializer_list<Above> counters) {
  return std::all_of(counters.begin(), counters.end(), [](const Above& it) { return it.counter.load() > it.bound; });
}

}  // namespace granary::tests
