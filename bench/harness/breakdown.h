#pragma once
// Measures where the time of a run's transactions goes, and how their commit times grow (TicToc, SIGMOD 2016, Figures
// 7c, 9c and 11; --breakdown). One request in kSampled is timed; of the others only the ticket is looked at. A session
// makes its RequestTimes when the measurement begins, so that neither the loading nor the warm-up nor the check of the
// data is counted.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <granary/database.h>

#include "bench/harness/workload.h"
#include "src/base/waiter.h"
#include "src/cc/timed_work.h"

namespace granary::bench {

/// Ticks of sampled requests. All time of an attempt that did not end its request is in `aborted`. A request that rolls
/// back, as specified, has done its work; the time in which it undoes the work belongs to its execution.
struct TimeParts {
  std::uint64_t index = 0;      ///< searching indexes
  std::uint64_t execution = 0;  ///< the rest of what the bodies do
  std::uint64_t commit = 0;
  std::uint64_t waiting = 0;  ///< waiting for others, in attempts that ended their request
  std::uint64_t aborted = 0;
  std::uint64_t back_off = 0;  ///< between attempts

  std::uint64_t all() const { return index + execution + commit + waiting + aborted + back_off; }
  void add(const TimeParts& more);
};

/// Commit times of transactions. It keeps the greatest sequence number of each epoch, as each epoch begins its sequence
/// numbers anew.
struct CommitTimes {
  std::uint64_t transactions = 0;
  std::map<std::uint64_t, std::uint64_t> greatest;  ///< the greatest sequence number, by epoch

  /// Counts a transaction that has committed. One that wrote nothing has no commit time of its own, but counts as well.
  void note(const Ticket& ticket);
  void add(const CommitTimes& more);
  /// Returns how many steps the times took for each transaction: 1 if each had a time of its own.
  double growth() const;
};

/// Sums up the times of all sessions of a run. Thread-safe.
class Breakdown {
 public:
  void add(const TimeParts& parts, const CommitTimes& times);
  /// Returns the shares in percent, and the growth with its number of transactions. They are of all that was added
  /// since the last call.
  std::vector<ExtraFigure> take_figures();

 private:
  std::mutex mutex_;  // guards the following members
  TimeParts parts_;
  CommitTimes times_;
};

/// Times the requests of one session from now on.
class RequestTimes {
 public:
  RequestTimes(Breakdown& sum, Worker& worker);
  ~RequestTimes();
  RequestTimes(const RequestTimes&) = delete;
  RequestTimes& operator=(const RequestTimes&) = delete;

  // These are called in this order. The time between attempt_ended() and the next attempt_begins() is back-off.
  void request_begins();
  void attempt_begins();
  void commit_begins();
  /// Notes the end of an attempt. `done` says how the commit ended or, if none was tried, why.
  void attempt_ended(const CommitResult& done);
  void request_ended();

 private:
  static constexpr std::uint64_t kSampled = 16;

  void note_commit(const Ticket& ticket);

  class TimedWaiter final : public base::Waiter {
   public:
    TimedWaiter(base::Waiter& waits, cc::TimedWork& work, const base::TickMeter& meter)
        : waits_(waits),
          work_(work),
          meter_(meter) {}
    void pause(std::uint32_t turn) override;
    void rest() override;

   private:
    base::Waiter& waits_;
    cc::TimedWork& work_;
    const base::TickMeter& meter_;
  };

  Breakdown& sum_;
  txn::WorkerCore& worker_;
  cc::TimedWork work_;
  base::Waiter& waiter_;  // the worker's own
  TimedWaiter timed_waiter_;
  TimeParts parts_;
  CommitTimes times_;
  // The epoch in which this was made. Its sequence numbers are partly those of earlier transactions, so it is left out
  // of times_.
  const std::uint64_t first_epoch_;
  bool in_first_epoch_ = true;
  std::uint64_t requests_ = 0;
  bool timing_ = false;
  std::uint64_t last_ = 0;                  // when the request began, or its last attempt ended
  std::uint64_t attempt_ = 0;               // when the present attempt began
  std::optional<std::uint64_t> execution_;  // its length in the present attempt, once the commit has begun
};

}  // namespace granary::bench
