#pragma once
// A leader of epochs in a thread of its own, for as long as a test wants.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "src/cluster/cluster_epoch/leader.h"

namespace granary::cluster {

class LeaderThread {
 public:
  /// `buffer`: in a registered region. The fabric listens.
  LeaderThread(rdma::Fabric& fabric, void* buffer) : fabric_(fabric), buffer_(buffer) {}
  ~LeaderThread() { stop(); }
  LeaderThread(const LeaderThread&) = delete;
  LeaderThread& operator=(const LeaderThread&) = delete;

  /// Leads this configuration, and no earlier one any more. The thread ends by itself when it is superseded.
  void lead(const LeaderOptions& options) {
    stop();
    last_ = {};
    stopping_ = false;
    thread_ = std::thread([this, options] { run(options); });
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_signal_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  /// What the last turn did. Thread-safe.
  TurnReport last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::microseconds;

  void run(const LeaderOptions& options) {
    const auto endpoint = fabric_.open_endpoint().value();
    rdma::fiber::Peers peers(*endpoint);
    rdma::fiber::FiberEndpoint shared(*endpoint);
    base::ThreadWaiter waiter;
    rdma::fiber::Scheduler scheduler([&] { shared.poll(); }, waiter);
    EpochLeader leader(options, {scheduler, shared, peers, waiter, buffer_});
    std::unique_lock lock(mutex_);
    while (last_.turn != Turn::kSuperseded && !stopping_) {
      lock.unlock();
      const auto now = std::chrono::duration_cast<Microseconds>(Clock::now().time_since_epoch());
      auto report = leader.step(static_cast<std::uint64_t>(now.count()));
      lock.lock();
      if (report) last_ = std::move(*report);
      stop_signal_.wait_until(lock, Clock::time_point(Microseconds(leader.next_us())), [this] { return stopping_; });
    }
  }

  rdma::Fabric& fabric_;
  void* const buffer_;
  std::thread thread_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  TurnReport last_;
};

}  // namespace granary::cluster
