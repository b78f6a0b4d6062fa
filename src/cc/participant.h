#pragma once
// Who takes part in a commit. Every participant takes the same steps, in the one order of commit.h, each in its own way: this node with
// locks (here/here.h), this node in one HTM region (region/region.h), the other nodes together (elsewhere/elsewhere.h).

#include <concepts>
#include <cstdint>
#include <string_view>

#include <granary/outcome.h>

#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/cc/decision.h"
#include "src/epoch/epoch.h"
#include "src/record/tid.h"

namespace granary::cc {

struct CommitOutcome {
  AbortReason reason = AbortReason::kNone;
  TidWord tid = 0;         ///< of the transaction, status bits clear; 0 if it wrote nothing
  epoch::Epoch epoch = 0;  ///< of its serialization point
};

constexpr bool failed(AbortReason reason) { return reason != AbortReason::kNone; }

/// The names of the places between the steps, where tests stop a commit; empty: this kind of commit is not stopped there.
struct CommitPoints {
  std::string_view locked = {}, validated = {}, prepared = {}, logged = {}, installed = {}, written_back = {};
};
inline void reach([[maybe_unused]] std::string_view point) {
  if constexpr (base::kTestHooks) {
    if (!point.empty()) base::sync_point(point);
  }
}

/// This node's part of a transaction. What failed may have been in vain only (Region): then the other way is tried.
template <typename T>
concept LocalParticipant = requires(T& here, epoch::Epoch epoch, TidWord elsewhere, Decision& decision) {
  { T::kWrites } -> std::convertible_to<bool>;  // false: it only reads, and ends with validate()
  {
    T::kStampsFirst
  } -> std::convertible_to<bool>;  // stamp() comes before validate(), and not behind prepare() elsewhere
  { T::points(true) } -> std::same_as<CommitPoints>;      // whether other nodes take part
  { here.lock() } -> std::same_as<AbortReason>;           // claims what will be written
  { here.validate(epoch) } -> std::same_as<AbortReason>;  // what was read is as it was, and nobody else's
  {
    here.stamp(epoch, elsewhere)
  } -> std::same_as<AbortReason>;                           // chooses tid(); `elsewhere`: the greatest TID there (I1)
  { here.prepare(epoch) } -> std::same_as<AbortReason>;     // memory and old versions (I12)
  { here.stamped() } -> std::same_as<TidWord>;              // behind stamp(): the time at which the reads have to hold
  { here.tid() } -> std::same_as<TidWord>;                  // behind stamp(); 0 if it only reads
  { here.install(decision) } -> std::same_as<AbortReason>;  // publishes the decision, then the new values
  { here.release() } -> std::same_as<void>;                 // gives back all that was taken, of a commit that failed
};

/// The other nodes' part, or nobody's.
template <typename T>
concept RemoteParticipant = requires(T& there, epoch::Epoch& epoch, TidWord tid) {
  { T::kNodes } -> std::convertible_to<bool>;  // false: this node is alone
  { there.writes_nothing() } -> std::same_as<bool>;
  { there.lock() } -> std::same_as<AbortReason>;
  { there.held_until() } -> std::same_as<base::LeaseEnd>;  // RemotePart::held_until
  // From E of this node to the transaction's epoch (I7). If the protocol stamps first, `tid` is the stamp as far as it is known.
  { there.agree(epoch, tid) } -> std::same_as<AbortReason>;
  { there.validate(tid) } -> std::same_as<AbortReason>;   // `tid`: the stamp, if the protocol stamps first
  { there.prepare(epoch) } -> std::same_as<AbortReason>;  // the last that may wait
  { there.greatest_tid() } -> std::same_as<TidWord>;
  { there.least_time() } -> std::same_as<TidWord>;  // RemotePart::least_time
  { there.write_back(tid) } -> std::same_as<void>;
  { there.release() } -> std::same_as<void>;
};

}  // namespace granary::cc
