#pragma once
// Has regions that stay open while their thread calls other functions and returns from them, so that a whole
// transaction runs in one (DrTM).
//
//   if (!region.open()) ...                                          // by locks
//   region.part([&](auto& memory) { ... return Verdict::done(); });  // as often as one likes
//   if (region.close()) ...                                          // all of it has taken effect
//
// With hardware, an abort puts the thread back into open(), which tries again or returns false. A simulation cannot do
// that. There part() and close() return false, and their caller undoes what it has done outside of the region's memory.
//
// How often open() tries again depends on the cause of the abort, and on the success of recent retries: if they fail,
// there are fewer of them. Whether it tries at all depends on the success of other regions with the same body.

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

/// Learns how often a region is worth retrying after an abort, by its cause. The number grows by one when a retry has
/// helped, and is halved when the transaction had to go on with locks after all.
class Patience {
 public:
  explicit Patience(const Policy& most) : most_(most.retries), now_(most.retries) {}

  std::uint32_t retries(Cause cause) const { return now_[static_cast<std::size_t>(cause)]; }
  /// Notes that a region has committed after aborts with these causes.
  void has_helped(const std::array<std::uint32_t, kCauses>& aborts);
  /// Notes that the transaction went on with locks, after an abort with this cause.
  void was_in_vain(Cause cause);

 private:
  /// After so many failures one more retry is allowed again, since the work may change.
  static constexpr std::uint32_t kForgets = 32;

  const std::array<std::uint32_t, kCauses> most_;
  std::array<std::uint32_t, kCauses> now_;
  std::uint32_t in_vain_ = 0;
};

class OpenRegion;

/// As long as it lives, ordinary stores of the thread belong to the region, if that is open, and do not abort it. With
/// hardware, all of the thread's stores belong to it anyway.
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

/// The regions of one thread, of which at most one is open at a time.
class OpenRegion {
 public:
  /// The arguments are those of a Region.
  OpenRegion(const Support& support, std::uint64_t stream, base::Waiter& waiter, const Policy& policy = {});

  /// Opens a region. Returns false if the transaction is to be done without one: this was tried often enough, and the
  /// next call begins anew, or this body is not expected to fit. `body` tells apart what different regions do; nullptr
  /// if nothing is known of that.
  bool open(const void* body = nullptr);
  bool is_open() const { return open_; }

  /// Runs a part of the region's body. Returns false if the region has aborted (simulated only).
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
  /// Commits the region. Returns false if it has aborted (simulated only).
  bool close();
  /// With hardware, aborts the region that this thread has open, whichever that is: the thread goes on without a region
  /// where that one was opened. It is called before the thread stores something that does not belong to that region's
  /// transaction. The region would take the store for its own, as it takes all stores of its thread, and so would not
  /// notice that memory which it has read has changed. A simulated region does notice.
  static void abort_open_on_this_thread();
  /// Ends the region, in which nothing was stored that others can see. If it has aborted (simulated only), it is
  /// forgotten.
  void cancel();

  // These concern the last region, which must have aborted in a simulation.

  /// Returns how it has aborted.
  const Attempt& lost() const { return *lost_; }
  /// Whether open() would try again.
  bool worth_retrying() const;
  /// Notes that the caller goes on without a region, without having asked open(). It counts as if open() had returned
  /// false.
  void give_up();

  const Counters& counters() const { return counters_; }
  /// Counts a transaction that the caller does without having tried a region.
  void count_fallback() { counters_.count_fallback(); }

 private:
  friend class OwnStores;
  /// Whether the forecast says that a region with this body would fail. The forecast counts how often it has said so.
  bool is_hopeless(const void* body) { return body != nullptr && !forecast_.is_worth_it(body); }
  bool open_on_hardware();
  bool open_simulated();
  void count(const Attempt& tried);
  /// Notes how a simulated region has aborted, and returns false.
  bool lose(const Attempt& tried);

  // The region that the thread has open on hardware. It is written only inside of regions, so that an abort takes it
  // back.
  static inline thread_local OpenRegion* open_here_ = nullptr;

  const bool rtm_;
  BackOff back_off_;
  Simulator simulator_;
  Counters counters_;
  Patience patience_;
  Forecast forecast_;
  ProgramPages pages_;
  std::array<std::uint32_t, kCauses> aborts_{};  // since the last commit, or the last time that open() returned false
  std::optional<Attempt> lost_;                  // how the last one aborted, unless it was committed or given up since
  const void* body_ = nullptr;                   // the body of the region that was opened last
  bool open_ = false;
};

inline OwnStores::OwnStores([[maybe_unused]] OpenRegion* region) {
  if constexpr (base::kTestHooks) {
    before_ = base::lines::own_stores;
    if (region != nullptr && region->is_open()) base::lines::own_stores = &region->simulator_;
  }
}

}  // namespace granary::htm
