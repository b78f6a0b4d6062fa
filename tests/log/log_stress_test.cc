// The whole log with real threads: workers with tiny rings, loggers, and epochs that move fast. Nothing is lost, and
// what D covers is on the device at every moment. Not covered: the commit path (src/cc) and process crashes.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/log/log.h"
#include "src/record/tid.h"
#include "tests/log/segment_decoder.h"
#include "tests/support/fault_files.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::log {
namespace {

constexpr DatabaseId kDatabase = {7};
constexpr std::uint32_t kWorkers = 4;
constexpr std::uint32_t kLoggers = 2;

class LogStress : public testing::Test {
 protected:
  LogStress() {
    files_.pass_through(rings_.path() + "/");
    EXPECT_TRUE(files_.make_directory("/db").ok());
    auto log = Log::open({.files = &files_,
                          .directories = {"/db"},
                          .reliable_directory = rings_.path(),
                          .loggers = kLoggers,
                          .ring_bytes = 4096,
                          .segment_bytes = 20'000,
                          .codec = {},
                          .database = kDatabase,
                          .generation = 1},
                         epochs_, 0);
    EXPECT_TRUE(log.ok()) << log.status().message();
    log_ = std::move(*log);
    EXPECT_TRUE(log_->start().ok());
  }

  /// What a worker of the engine does: registers, then commits `transactions`; stops when the log has failed.
  void work(std::uint32_t me, std::uint64_t transactions) {
    base::Random random(me);
    base::ThreadWaiter waiter;
    epoch::Slot* const slot = epochs_.acquire_slot();
    Ring* const ring = *log_->add_worker(me);
    for (std::uint64_t number = 0; number < transactions && !log_->durable().failed(); ++number) {
      const EntryHeader header{static_cast<std::uint32_t>(random.below(400)), 0, 0};
      epochs_.enter(*slot);
      if (!ring->has_room(header.bytes())) static_cast<void>(log_->wait_for_room(waiter, *ring, header.bytes()));
      if (log_->durable().failed()) {
        epochs_.leave(*slot);
        break;
      }
      // The sequence tells worker and number: no two workers have a TID in common.
      const std::uint64_t tid = record::make_tid(epochs_.current(), number * kWorkers + me);
      if (random.chance(0.2)) std::this_thread::yield();
      std::memset(ring->at_tail(), static_cast<int>('a' + me), header.bytes());
      EntryHeader whole = header;
      whole.tid_and_kind = tid | std::uint64_t{1};
      std::memcpy(ring->at_tail(), &whole, sizeof whole);
      ring->publish(whole.bytes());
      epochs_.leave(*slot);
      committed_[me].push_back(tid);
    }
    epochs_.release_slot(slot);
  }
  /// Runs the workers while this thread moves the epoch and `watch`es.
  template <typename Watch>
  void run(std::uint64_t transactions, Watch&& watch) {
    std::atomic<std::uint32_t> running{kWorkers};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < kWorkers; ++me) {
      threads.emplace_back([&, me] {
        work(me, transactions);
        running.fetch_sub(1);
      });
    }
    while (running.load() != 0) {
      epochs_.tick();
      log_->nudge();
      watch();
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    for (std::thread& thread : threads) thread.join();
  }
  /// Sorted TIDs with an epoch ≤ `until` of all workers. After the threads.
  std::vector<std::uint64_t> committed(epoch::Epoch until) const {
    std::vector<std::uint64_t> tids;
    for (const auto& mine : committed_) {
      std::copy_if(mine.begin(), mine.end(), std::back_inserter(tids),
                   [&](std::uint64_t tid) { return record::epoch_of(tid) <= until; });
    }
    std::sort(tids.begin(), tids.end());
    return tids;
  }
  /// Sorted TIDs with an epoch ≤ `until` that a power loss leaves.
  static std::vector<std::uint64_t> left(tests::FaultFiles& image, epoch::Epoch until) {
    const auto log = tests::decode_log(image, "/db", kDatabase, 1, kLoggers, 0);
    EXPECT_TRUE(log.mistakes.empty()) << log.mistakes.front();
    EXPECT_GE(log.durable, until);
    std::vector<std::uint64_t> tids;
    for (const auto& [tid, body] : log.replayed()) {
      if (record::epoch_of(tid) <= until) tids.push_back(tid);
    }
    return tids;
  }

  tests::TemporaryDirectory rings_;
  tests::FaultFiles files_;
  epoch::EpochManager epochs_{{.max_open_epochs = 0}};
  std::unique_ptr<Log> log_;
  std::vector<std::uint64_t> committed_[kWorkers];
};

TEST_F(LogStress, TinyRingsLoseNothing) {
  const std::uint64_t transactions = tests::scaled(15'000);
  run(transactions, [] {});
  epochs_.tick();
  const Status closed = log_->close();
  EXPECT_TRUE(closed.ok()) << closed.message();
  EXPECT_TRUE(log_->remove_rings().ok());
  EXPECT_TRUE(files_.list(rings_.path())->empty());
  const auto image = files_.power_loss_image(tests::Survives::kSynced);
  const epoch::Epoch durable = log_->durable().current();
  EXPECT_EQ(durable, epochs_.current() - 1);
  const auto tids = left(*image, durable);
  EXPECT_EQ(tids.size(), transactions * kWorkers);
  EXPECT_EQ(tids, committed(durable));
  EXPECT_GT(epochs_.current(), 20u) << "E hardly moved; the test saw nothing";
}

TEST_F(LogStress, WhatDCoversSurvivesPowerLossAtAnyMoment) {
  struct Moment {
    epoch::Epoch durable;
    std::unique_ptr<tests::FaultFiles> image;
  };
  std::vector<Moment> moments;
  run(tests::scaled(15'000), [&] {
    const epoch::Epoch durable = log_->durable().current();
    if (moments.size() >= 20 || (!moments.empty() && durable < moments.back().durable + 3)) return;
    moments.push_back({durable, files_.power_loss_image(tests::Survives::kRandom, moments.size())});
  });
  for (const Moment& moment : moments) EXPECT_EQ(left(*moment.image, moment.durable), committed(moment.durable));
  EXPECT_GT(moments.size(), 2u);
}

TEST_F(LogStress, ADiskThatFailsStopsEverybody) {
  files_.plan({.call = tests::FileCall::kSync, .nth = 30, .pages_lost = true});
  run(1'000'000'000, [] {});  // until the workers are told
  EXPECT_TRUE(log_->durable().failed());
  const epoch::Epoch durable = log_->durable().current();
  EXPECT_EQ(log_->close().code(), StatusCode::kIoError);
  EXPECT_EQ(left(*files_.power_loss_image(tests::Survives::kSynced), durable), committed(durable));
  EXPECT_EQ(log_->durable().current(), durable);
}

}  // namespace
}  // namespace granary::log
