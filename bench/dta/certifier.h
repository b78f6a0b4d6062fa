#pragma once
// The part that all transactions of a DTA store share. It has the critical section in which each is certified and gets
// its timestamp, and the end of each open transaction's interval.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "bench/dta/interval.h"
#include "bench/dta/row.h"
#include "src/base/cache_line.h"

namespace granary::bench::dta {

class Certifier {
 public:
  Certifier();

  /// Returns a number for a session, which no other session has; none if all are taken. Thread-safe, and so is
  /// give_session().
  std::optional<std::uint32_t> take_session();
  void give_session(std::uint32_t session);

  /// Returns the mutex that callers hold for the functions marked so below, and for those that Row has for the critical
  /// section.
  std::mutex& critical_section() { return critical_section_; }

  /// Begins a transaction of the session, which may get any timestamp. Relaxed: a thread that shrinks the interval has
  /// found the session among a row's readers (acquire), and the session adds itself there only after this store, by an
  /// operation that releases. A thread that has found the session's former transaction may shrink the interval of the
  /// new one. That may abort the new one for no reason, and does no other harm.
  void begin_interval(std::uint32_t session) { ends_[session].time.store(kNever, std::memory_order_relaxed); }
  /// Returns where the interval of the session's transaction ends. Relaxed: in the critical section the value is exact,
  /// because others shrink it only there. Outside it may be out of date, which certify() finds.
  Timestamp end_of(std::uint32_t session) const { return ends_[session].time.load(std::memory_order_relaxed); }
  /// Makes the session's transaction get a timestamp before this one. To be called in the critical section. Relaxed:
  /// that transaction decides by the end only when it is in the critical section itself.
  void end_before(std::uint32_t session, Timestamp time) {
    if (time < end_of(session)) ends_[session].time.store(time, std::memory_order_relaxed);
  }
  /// Chooses a timestamp from an interval that is not empty. To be called in the critical section.
  ///
  /// If the interval has no end, the timestamp is later than all others, with room in between for other transactions.
  /// It is then later than the beginning of every open transaction's interval, so one conflict alone leaves no interval
  /// empty. Otherwise it is the middle of the interval.
  Timestamp choose(const Interval& interval);

 private:
  /// Room before a timestamp that is later than all others. There can be 2^47 such timestamps.
  static constexpr Timestamp kRoom = Timestamp{1} << 16;

  struct alignas(base::kCacheLine) End {
    // Where the session's interval ends. The session writes it when its transaction begins, and then the thread in the
    // critical section. Both read it. The orders are at the functions above.
    std::atomic<Timestamp> time{kNever};
  };

  alignas(base::kCacheLine) std::mutex critical_section_;
  Timestamp latest_ = 0;             // the greatest timestamp so far; guarded by critical_section_
  std::vector<std::uint32_t> free_;  // numbers that no session has; guarded by critical_section_
  std::array<End, Row::kSessions> ends_;
};

}  // namespace granary::bench::dta
