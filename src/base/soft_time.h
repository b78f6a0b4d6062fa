#pragma once
// Keeps softtime: the cluster's time as a thread last read it, in memory (DrTM: a system call for the time would end an
// HTM region). A reader loads one cache line and reads the time stamp counter: now is the time that was written plus
// its age.
//
// I9: the time comes with a bound of how far any other node's may be from it. Without a bound, or once the written time
// is older than it may be, there is no time. Then no lease counts as valid and none as expired. A lease that was taken
// before the clock was set does not count as valid after that, either: others may have found it expired before their
// clocks went back, too. If a lease ends further ahead than any lease can last, the time was set back since it was
// taken, so it is over.

#include <cstdint>

#include "src/base/cache_line.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/base/tsc_clock.h"

namespace granary::base {

/// The end of a lease that a node relies on, by the node's clock as it was after so many jumps.
struct LeaseEnd {
  std::uint64_t end_us = 0;
  std::uint64_t jumps = 0;
};

/// A node's knowledge of the time at one moment.
struct TimeReading {
  std::uint64_t now_us = 0;
  std::uint64_t error_us = 0;  ///< no node's clock differs from this reading by more
  bool known = false;
  std::uint64_t jumps = 0;                ///< how often this node's clock has jumped so far
  std::uint64_t longest_us = kUnlimited;  ///< no node's lease lasts longer

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  /// Whether, by every node's clock, a lease with this end expired more than `for_us` ago. A lease whose end is out of
  /// reach counts as expired, too.
  bool expired(std::uint64_t end_us, std::uint64_t for_us = 0) const {
    if (!known) return false;
    if (now_us <= end_us) return out_of_reach(end_us, 3 * error_us);
    return now_us - end_us > error_us + for_us || base::injected("ignore-clock-error");
  }
  /// Whether a lease with this end is valid by every node's clock.
  bool valid(std::uint64_t end_us) const {
    if (base::injected("honour-expired-lease")) return known;
    if (!known || now_us >= end_us) return false;
    if (out_of_reach(end_us, 2 * error_us) && !base::injected("trust-any-lease-end")) return false;
    return end_us - now_us > error_us || base::injected("ignore-clock-error");
  }
  bool valid(const LeaseEnd& lease) const { return jumps == lease.jumps && valid(lease.end_us); }

 private:
  /// Whether no lease can end so late. A node that takes a lease lets it end its length and the error after what its
  /// clock shows, and our clock may be behind that one by the error once more. And if one node takes a lease for valid,
  /// another one whose clock is behind by the error must not find it out of reach.
  bool out_of_reach(std::uint64_t end_us, std::uint64_t margin_us) const {
    return longest_us != kUnlimited && end_us - now_us > longest_us + margin_us;
  }
};

class SoftTime {
 public:
  /// `ticks` tells ages. A time older than `max_age_us` does not count. No node's leases last longer than
  /// `longest_lease_us`.
  SoftTime(const TscClock& ticks, std::uint64_t max_age_us, std::uint64_t longest_lease_us = TimeReading::kUnlimited)
      : ticks_(ticks),
        max_age_us_(max_age_us),
        longest_lease_us_(longest_lease_us) {}

  const TscClock& ticks() const { return ticks_; }
  std::uint64_t max_age_us() const { return max_age_us_; }

  /// Returns the time. Any thread may call it. If the time is rewritten again and again meanwhile, it gives up and
  /// returns no time.
  TimeReading read() const {
    for (int attempt = 0; attempt < 16; ++attempt) {
      const std::uint64_t turn = load_word(&line_.turn);
      const TimeReading reading = at_turn(turn, [](const std::uint64_t* word) { return load_word(word); });
      if (load_word(&line_.turn) == turn) return reading;
    }
    return {};
  }
  /// Returns the time inside an HTM region, which aborts if the time is written before it ends.
  template <typename Memory>
  TimeReading read_in(Memory& memory) const {
    return at_turn(memory.load(&line_.turn), [&memory](const std::uint64_t* word) { return memory.load(word); });
  }

  /// Writes that the time was `time_us` when the counter showed `ticks`. Only one thread writes.
  void write(std::uint64_t time_us, std::uint64_t ticks, std::uint64_t error_us) {
    const std::uint64_t turn = line_.turn + 1;
    Written& next = line_.written[turn % 2];
    store_word(&next.time_us, time_us);
    store_word(&next.ticks, ticks);
    store_word(&next.error_us, error_us);
    store_word(&line_.turn, turn);
  }
  /// Withdraws the time until the next write(). Called by the writing thread.
  void withdraw() { write(0, 0, kNone); }
  /// Withdraws the time, because the next one has little to do with those before. A reader never returns an earlier
  /// time with the new count of jumps, as it sees then that the turn has changed. Called by the writing thread.
  void jump() {
    withdraw();
    store_word(&line_.jumps, line_.jumps + 1);
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  struct Written {
    std::uint64_t time_us = 0;
    std::uint64_t ticks = 0;
    std::uint64_t error_us = kNone;
  };
  /// The writer fills the half that `turn` does not point to, so readers never wait for it. It comes back to the other
  /// half only after `turn` has changed. By that a reader knows that the words it loaded may be mixed.
  struct alignas(kCacheLine) Line {
    std::uint64_t turn = 0;
    std::uint64_t jumps = 0;
    Written written[2];
  };
  static_assert(sizeof(Line) == kCacheLine, "one line to load, and for a region to subscribe to");

  template <typename Load>
  TimeReading at_turn(std::uint64_t turn, Load&& load) const {
    const Written& written = line_.written[turn % 2];
    const std::uint64_t time_us = load(&written.time_us);
    const std::uint64_t then = load(&written.ticks);
    const std::uint64_t error_us = load(&written.error_us);
    const std::uint64_t jumps = load(&line_.jumps);
    const std::uint64_t now = ticks_.ticks();
    // Another processor's counter may be a little behind the writer's.
    const auto age_us = now > then ? static_cast<std::uint64_t>(ticks_.nanoseconds(now - then) / 1000) : 0;
    const bool fresh = age_us <= max_age_us_ || base::injected("ignore-softtime-age");
    return {.now_us = time_us + age_us,
            .error_us = error_us,
            .known = error_us != kNone && fresh,
            .jumps = jumps,
            .longest_us = longest_lease_us_};
  }

  Line line_;
  const TscClock ticks_;
  const std::uint64_t max_age_us_;
  const std::uint64_t longest_lease_us_;
};

}  // namespace granary::base
