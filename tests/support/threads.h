#pragma once
// Runs workers on real threads for stress tests.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/enough.h"
#include "tests/support/scale.h"
#include "tests/support/htm_setting.h"
#include "tests/support/protocol_setting.h"

namespace granary::tests {

/// Returns options with short epochs, so that snapshots, reclamation and revocation happen all the time.
inline Options stress_options() {
  Options options;
  options.epoch_ms = 1;
  options.snapshot_epochs = 3;
  options.max_open_epochs = 0;
  options.memory_limit_bytes = std::uint64_t{512} << 20;
  options.huge_pages = HugePages::kOff;
  set_htm(options);
  set_protocol(options);
  return options;
}

/// Returns how long the threads of a stress test run, which is longer in `scripts/test.sh --full`.
inline std::chrono::milliseconds stress_time() { return std::chrono::milliseconds(scaled(1500)); }

/// Runs `body(worker, thread number)` in `threads` threads, again and again, for `time`, and then on until `enough()`,
/// but for a minute more at most.
template <typename Body, typename Enough>
void run_threads_until(Enough&& enough, Database& database, unsigned threads, Body&& body,
                       std::chrono::milliseconds time = stress_time()) {
  std::atomic<bool> stop{false};  // set by the caller's thread, read by all; only a signal, so relaxed
  std::vector<std::thread> running;
  for (unsigned me = 0; me < threads; ++me) {
    running.emplace_back([&, me] {
      Worker worker = database.register_worker().value();
      while (!stop.load(std::memory_order_relaxed) && !testing::Test::HasFatalFailure()) body(worker, me);
    });
  }
  sleep_until_enough(time, enough);
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : running) thread.join();
}

/// Runs `body(worker, thread number)` in `threads` threads, again and again, for `time`.
template <typename Body>
void run_threads(Database& database, unsigned threads, Body&& body, std::chrono::milliseconds time = stress_time()) {
  run_threads_until([] { return true; }, database, threads, body, time);
}

/// Yields the processor now and then. On few processors, most interleavings come from that.
inline void maybe_yield(std::uint64_t random) {
  if (random % 4 == 0) std::this_thread::yield();
}

}  // namespace granary::tests
