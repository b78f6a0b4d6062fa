#pragma once
// Runs one transaction to its end and counts every attempt that failed. Benchmarks do this by themselves instead of
// calling Worker::run, because they report the reason of each attempt, not only of the last one.

#include <algorithm>
#include <cstdint>
#include <limits>

#include <granary/granary.h>

#include "bench/harness/breakdown.h"
#include "bench/harness/workload.h"
#include "src/base/cache_line.h"
#include "src/base/give_way.h"
#include "src/base/random.h"

namespace granary::bench {

/// The number of pauses of back_off() after which they do not double any more.
inline constexpr std::uint32_t kMostDoublings = 10;

/// Pauses for a random time that doubles with each lost attempt, from a fraction of a microsecond to some 50. After
/// that it also gives the processor away: where there are more threads than cores, or other nodes on this host, the
/// holder of the record may be waiting for it.
inline void back_off(base::Random& random, std::uint32_t attempt) {
  const std::uint64_t pauses = random.below(std::uint64_t{2} << std::min(attempt, kMostDoublings));
  for (std::uint64_t i = 0; i < pauses; ++i) base::spin_pause();
  if (attempt > kMostDoublings) [[unlikely]]
    base::give_way();
}

/// Lets a request of the worker wait before its next attempt. Where the worker runs several in turn (--batch), the
/// others go on meanwhile, since they may hold what the request wants, and a pause of the thread would hold them up,
/// too.
inline void back_off(Worker& worker, base::Random& random, std::uint32_t attempt) {
  if (!worker.let_others_run()) return back_off(random, attempt);
  constexpr std::uint32_t kMostDoublingsOfTurns = 6, kOthersNeedTheProcessor = 32;
  const std::uint64_t turns = random.below(std::uint64_t{2} << std::min(attempt, kMostDoublingsOfTurns));
  for (std::uint64_t i = 0; i < turns; ++i) worker.let_others_run();
  if (attempt % kOthersNeedTheProcessor == kOthersNeedTheProcessor - 1) [[unlikely]]
    base::give_way();
}

/// Pauses alone, as a worker of a cluster has no other transactions to run meanwhile.
inline void back_off(ClusterWorker&, base::Random& random, std::uint32_t attempt) { back_off(random, attempt); }

/// Counts the attempts of a request that ended with kOpenTooLong, one after another. After as many as Worker::run()
/// would make, the request is given up, because it always takes too long.
class OpenTooLong {
 public:
  /// Notes why an attempt has failed. Returns whether the request is to be given up.
  bool is_hopeless(AbortReason reason) {
    in_a_row_ = reason == AbortReason::kOpenTooLong ? in_a_row_ + 1 : 0;
    return in_a_row_ >= kMostOpenTooLong;
  }

 private:
  std::uint32_t in_a_row_ = 0;
};

/// Runs a request, and times it unless `times` is nullptr.
template <typename Run>
Ending timed_request(RequestTimes* times, Run&& run) {
  if (times != nullptr) times->request_begins();
  const Ending ending = run();
  if (times != nullptr) times->request_ended();
  return ending;
}

/// Runs one attempt, `attempt()`, and times it; the attempt itself notes when its commit begins. Returns how it ended.
template <typename Attempt>
CommitResult timed_attempt(RequestTimes* times, Attempt&& attempt) {
  if (times != nullptr) times->attempt_begins();
  const CommitResult done = attempt();
  if (times != nullptr) times->attempt_ended(done);
  return done;
}

/// Says when a request is given up whose attempts fail for reasons that a retry may mend.
struct RetryRule {
  std::uint32_t most_attempts = std::numeric_limits<std::uint32_t>::max();
  bool awaits_recovery = true;  ///< whether to retry also where a node must be recovered first, which takes long
};

/// Runs a request to its end. `attempt()` runs it once, and returns how the commit ended, or kUser if the application
/// has rolled it back. It is called again as long as a retry may help and the rule allows it.
template <typename Attempt>
Ending run_attempts(Worker& worker, base::Random& random, AbortCounts& aborts, const RetryRule& rule,
                    RequestTimes* times, Attempt&& attempt) {
  return timed_request(times, [&] {
    OpenTooLong too_long;
    for (std::uint32_t number = 0; number < rule.most_attempts; ++number) {
      const AbortReason reason = timed_attempt(times, attempt).reason;
      if (reason == AbortReason::kNone) [[likely]]
        return Ending::kCommitted;
      if (reason == AbortReason::kUser) return Ending::kRolledBack;
      ++aborts[static_cast<std::size_t>(reason)];
      if (!is_retryable(reason)) return Ending::kGaveUp;
      if (reason == AbortReason::kNodeRecovering && !rule.awaits_recovery) return Ending::kGaveUp;
      if (too_long.is_hopeless(reason)) return Ending::kTooLong;
      back_off(worker, random, number);
    }
    return Ending::kGaveUp;
  });
}

/// Runs transactions with `body(Transaction&)`, which may be called several times, to the end of the request. A body
/// that calls abort() ends the request as rolled back.
template <typename Body>
Ending run_to_end(Worker& worker, base::Random& random, AbortCounts& aborts, Body&& body,
                  const TransactionOptions& options = {}, RequestTimes* times = nullptr) {
  return run_attempts(worker, random, aborts, RetryRule{}, times, [&]() -> CommitResult {
    Transaction transaction = worker.begin(options);
    body(transaction);
    const AbortReason aborted = transaction.aborted();
    if (aborted != AbortReason::kNone) return {.reason = aborted, .ticket = {}};
    if (times != nullptr) times->commit_begins();
    return transaction.commit();
  });
}

}  // namespace granary::bench
