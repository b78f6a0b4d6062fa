#pragma once
// Runs a benchmark's workload in a test, with small options: loads it, and lets workers send requests for a moment.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include <granary/options.h>

#include "bench/harness/workload.h"

namespace granary::bench {

inline Options small_database_options() {
  Options options;
  options.epoch_ms = 2;
  options.max_open_epochs = 1000;  // a descheduled thread is no error here
  options.memory_limit_bytes = std::uint64_t{1} << 28;
  options.huge_pages = HugePages::kOff;
  return options;
}

inline void load_workload(Workload& workload, unsigned threads) {
  struct NoProgress final : Progress {
    void add(std::uint64_t) override {}
  } progress;
  const Status loaded = workload.load(threads, progress);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
}

/// Runs so many workers at the same time, and expects that none of them gives up a request.
inline void drive_workload(Workload& workload, std::uint32_t workers) {
  std::vector<std::thread> threads;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      auto client = workload.make_client(worker);
      ASSERT_TRUE(client.ok()) << client.status().message();
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
      while (std::chrono::steady_clock::now() < end) EXPECT_NE((*client)->run_one().ending, Ending::kGaveUp);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace granary::bench
