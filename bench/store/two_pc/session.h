#pragma once
// A worker's access to the baseline. It runs one transaction at a time, and tries it again after a lost conflict.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/harness/attempts.h"
#include "bench/harness/workload.h"
#include "bench/store/two_pc/transaction.h"
#include "src/base/random.h"

namespace granary::bench::two_pc {

/// Sums up the work of all sessions. Each session adds its part once, when it ends, and the store reads the sums when
/// all sessions have ended. That orders the reads after the additions, so these are relaxed.
struct SessionSums {
  std::atomic<std::uint64_t> transactions{0}, distributed{0};  ///< attempts, and how many of them reached other nodes
  std::atomic<std::uint64_t> messages{0}, round_trips{0}, waited_ns{0}, pings{0}, pinged_ns{0};
};

class Session {
 public:
  Session(Rows& rows, const AddressBook& book, std::uint32_t own, std::uint32_t nodes, std::uint64_t seed,
          SessionSums& sums)
      : coordinator_(rows, book, own, nodes),
        random_(seed, 0x3270635f746370),
        sums_(sums) {}

  ~Session() {
    const Traffic& traffic = coordinator_.traffic();
    const auto add = [](auto& sum, std::uint64_t part) { sum.fetch_add(part, std::memory_order_relaxed); };
    add(sums_.transactions, transactions_);
    add(sums_.distributed, coordinator_.distributed());
    add(sums_.messages, traffic.messages);
    add(sums_.round_trips, traffic.round_trips);
    add(sums_.waited_ns, traffic.waited_ns);
    add(sums_.pings, traffic.pings);
    add(sums_.pinged_ns, traffic.pinged_ns);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  template <typename Body>
  Ending run(const store::Footprint&, AbortCounts& aborts, Body&& body) {
    for (std::uint32_t attempt = 0; attempt < store::kMaxAttempts; ++attempt) {
      coordinator_.begin();
      ++transactions_;
      Transaction transaction(coordinator_);
      const store::Verdict verdict = body(transaction);
      if (verdict != store::Verdict::kCommit) coordinator_.roll_back();
      if (verdict == store::Verdict::kRollBack) return Ending::kRolledBack;
      if (verdict == store::Verdict::kCommit && coordinator_.commit()) return Ending::kCommitted;
      const bool lost = coordinator_.has_lost_a_node();
      ++aborts[static_cast<std::size_t>(lost ? AbortReason::kNodeUnreachable : AbortReason::kRecordBusy)];
      if (lost) return Ending::kGaveUp;
      back_off(attempt);
    }
    return Ending::kGaveUp;
  }
  /// Runs an ordinary transaction, which holds locks, because the baseline has no snapshots.
  template <typename Body>
  Ending run_snapshot(const store::Footprint& footprint, AbortCounts& aborts, Body&& body) {
    return run(footprint, aborts, body);
  }
  void collect() {}

  /// Returns the bound, in microseconds, of the random sleep after the lost attempt of this number, which counts from
  /// 0. The first attempts do not sleep, and are as far apart as those of the engine that this is compared with. From
  /// then on the bound doubles up to a few milliseconds: the holder of the lock waits for messages and may need this
  /// processor.
  static constexpr std::uint64_t most_sleep_us(std::uint32_t attempt) {
    constexpr std::uint64_t kFirst_us = 50;
    constexpr std::uint32_t kMostSleepDoublings = 7;
    return attempt <= kMostDoublings ? 0 : kFirst_us << std::min(attempt - kMostDoublings - 1, kMostSleepDoublings);
  }
  /// Returns the sums over all its requests to other nodes so far.
  const Traffic& traffic() const { return coordinator_.traffic(); }

 private:
  void back_off(std::uint32_t attempt) {
    const std::uint64_t most_us = most_sleep_us(attempt);
    if (most_us == 0) return bench::back_off(random_, attempt);
    std::this_thread::sleep_for(std::chrono::microseconds(random_.below(most_us)));
  }

  Coordinator coordinator_;
  base::Random random_;
  SessionSums& sums_;
  std::uint64_t transactions_ = 0;
};

}  // namespace granary::bench::two_pc
