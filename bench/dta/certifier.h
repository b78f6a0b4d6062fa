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

  /// The session begins a transaction, which may get any timestamp. Relaxed: who shrinks the interval has found the
  /// session among a row's readers, and it adds itself only behind this, by an operation that releases. One who found
  /// its former transaction may shrink the new one's interval in vain; that may abort it, and does no other harm.
  void begin_interval(std::uint32_t session) { ends_[session].time.store(kNever, std::memory_order_relaxed); }
  /// Returns where the interval of the session's transaction ends. Exact in the critical section, as others shrink it
  /// only there. Outside of it, it may have been shrunk meanwhile, so relaxed.
  Timestamp end_of(std::uint32_t session) const { return ends_[session].time.load(std::memory_order_relaxed); }
  /// In the critical section: the session's transaction must get a timestamp before this one. Relaxed: it looks there
  /// itself.
  void end_before(std::uint32_t session, Timestamp time) {
    if (time < end_of(session)) ends_[session].time.store(time, std::memory_order_relaxed);
  }
  /// In the critical section: chooses a timestamp from an interval that is not empty.
  ///
  /// A transaction that may go behind all others does so, and far enough for others to go between. Its time is then
  /// behind the beginning of every open transaction's interval, so that one conflict alone leaves no interval empty.
  /// Other transactions take the middle of what they have.
  Timestamp choose(const Interval& interval);

 private:
  /// Room between the timestamps of transactions that go behind all others; enough for 2^47 of them.
  static constexpr Timestamp kRoom = Timestamp{1} << 16;

  struct alignas(base::kCacheLine) End {
    std::atomic<Timestamp> time{
        kNever};  // written by its session at the beginning, then by the thread in the critical section
  };

  alignas(base::kCacheLine) std::mutex critical_section_;
  Timestamp latest_ = 0;             // the greatest that anybody has; guarded by critical_section_
  std::vector<std::uint32_t> free_;  // numbers of sessions; the same
  std::array<End, Row::kSessions> ends_;
};

}  // namespace granary::bench::dta
