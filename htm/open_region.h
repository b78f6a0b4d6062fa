#pragma once
// A region that stays open while its thread calls other functions and returns from them: a whole transaction runs in it
// (DrTM).
//
//   if (!region.open()) ...                                          // by locks
//   region.part([&](auto& memory) { ... return Verdict::done(); });  // as often as one likes
//   if (region.close()) ...                                          // all of it has taken effect
//
// With hardware an abort puts the thread back into open(), which tries again or says no. A simulation cannot do that.
// So there part() and close() say no, and their caller undoes what it has done outside of the region's memory.
//
// How often open() tries again depends on the cause of the abort, and on what came of trying again lately: where that
// was in vain, it becomes rarer. Whether it tries at all depends on what came of other regions with the same body.

#include <array>
#include <cstdint>
#include <optional>

#include "htm/attempt.h"
#include "htm/back_off.h"
#include "htm/forecast.h"
#include "htm/program_pages.h"
#include "htm/rtm.h"
#include "htm/simulator.h"
#include "htm/support.h"
#include "src/base/waiter.h"

namespace granary::htm {

/// How often a region is tried again after an abort, by its cause. It is learnt: by additive increase where trying
/// again has helped, by multiplicative decrease where the other way had to be taken after all.
class Patience {
 public:
  explicit Patience(const Policy& most) : most_(most.retries), now_(most.retries) {}

  std::uint32_t retries(Cause cause) const { return now_[static_cast<std::size_t>(cause)]; }
  /// A region has committed after aborts with these causes.
  void has_helped(const std::array<std::uint32_t, kCauses>& aborts);
  /// The other way was taken, after an abort with this cause.
  void was_in_vain(Cause cause);

 private:
  /// One retry is allowed again behind so many failures, as work changes.
  static constexpr std::uint32_t kForgets = 32;

  const std::array<std::uint32_t, kCauses> most_;
  std::array<std::uint32_t, kCauses> now_;
  std::uint32_t in_vain_ = 0;
};

class OpenRegion;

/// While one lives, ordinary stores of the thread belong to the region, if it is open: they do not abort it. With
/// hardware all of the thread's stores do, always.
class OwnStores {
 public:
  explicit OwnStores(OpenRegion* region);
  ~OwnStores() {
    if constexpr (base::kTestHooks) base::lines::own_stores = before_;
  }
  OwnStores(const OwnStores&) = delete;
  OwnStores& operator=(const OwnStores&) = delete;

 private:
  base::lines::OwnStores* before_ = nullptr;
};

/// An OpenRegion is one thread's, and at most one region of it is open at a time.
class OpenRegion {
 public:
  /// The arguments are those of a Region.
  OpenRegion(const Support& support, std::uint64_t stream, base::Waiter& waiter, const Policy& policy = {});

  /// Opens a region. False: it is to be done without one, as this was tried often enough, and the next call begins
  /// anew; or this body would not fit. `body` tells what will be done in the region apart from what is done in others;
  /// nullptr: nothing is known of that.
  bool open(const void* body = nullptr);
  bool is_open() const { return open_; }

  /// Runs a part of the region's body. False: the region has aborted (simulated only).
  template <typename Part>
  bool part(Part&& part) {
    if (rtm_) {
      RtmMemory memory;
      const Verdict verdict = part(memory);
      if (!verdict.is_done()) abort_rtm(verdict);
      return true;
    }
    const Attempt tried = simulator_.run(part);
    return tried.committed || lose(tried);
  }
  /// Aborts the region for the caller's reason. With hardware it does not return.
  void abort(Verdict verdict);
  /// Commits. False: the region has aborted (simulated only).
  bool close();
  /// With hardware, aborts the region that this thread has open, whichever that is: the thread goes on without one
  /// where that was opened. Called before the thread stores something that does not belong to that region's
  /// transaction. The region would take it for its own, as it takes all of its thread's stores, and so would not notice
  /// that what it has read has changed. In a simulation it does notice.
  static void abort_open_on_this_thread();
  /// Ends the region, in which nothing was stored that others can see. One that has aborted (simulated only) is
  /// forgotten.
  void cancel();

  // These tell of the last region, and need one that has aborted in a simulation.

  /// How it has aborted.
  const Attempt& lost() const { return *lost_; }
  /// Whether open() would try again.
  bool worth_retrying() const;
  /// The caller goes on without a region, without having asked open(): it counts as open()'s no.
  void give_up();

  const Counters& counters() const { return counters_; }
  /// Counts what the caller does without a region, having tried none.
  void count_fallback() { counters_.count_fallback(); }

 private:
  friend class OwnStores;
  /// Whether the forecast says that a region with this body would be in vain. It counts how often it has said so.
  bool is_hopeless(const void* body) { return body != nullptr && !forecast_.is_worth_it(body); }
  bool open_on_hardware();
  bool open_simulated();
  void count(const Attempt& tried);
  /// Notes how a simulated region has aborted, and returns false.
  bool lose(const Attempt& tried);

  // The region that the thread has open on hardware. It is written inside of regions only, so that an abort takes it
  // back.
  static inline thread_local OpenRegion* open_here_ = nullptr;

  const bool rtm_;
  BackOff back_off_;
  Simulator simulator_;
  Counters counters_;
  Patience patience_;
  Forecast forecast_;
  ProgramPages pages_;
  std::array<std::uint32_t, kCauses> aborts_{};  // since the last commit or no
  std::optional<Attempt> lost_;                  // how the last one aborted, unless it was committed or given up since
  const void* body_ = nullptr;                   // of the region that was opened last
  bool open_ = false;
};

inline OwnStores::OwnStores([[maybe_unused]] OpenRegion* region) {
  if constexpr (base::kTestHooks) {
    before_ = base::lines::own_stores;
    if (region != nullptr && region->is_open()) base::lines::own_stores = &region->simulator_;
  }
}

}  // namespace granary::htm
