#pragma once
// Defines the participants of a commit, as concepts. commit.h calls their steps in one order; each participant takes
// them in its own way. For this node there are a participant with locks (here/here.h, here/weaker.h), one in an HTM
// region (region/region.h), and one at the end of a region in which the whole transaction has run
// (drtm/commit_in_open_region.h). The other nodes are one participant together (elsewhere/elsewhere.h).

#include <concepts>
#include <cstdint>
#include <string_view>

#include <granary/outcome.h>

#include "src/base/failed.h"
#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/cc/decision.h"
#include "src/epoch/epoch.h"
#include "src/record/tid.h"

namespace granary::cc {

/// How a commit ended. Functions return it in two registers. If it were larger, it would be stored field by field and
/// copied in wide words right away. A processor delays such a copy until the stores have reached the cache, and the
/// stores wait for all loads before them, such as that of a record from memory.
struct CommitOutcome {
  AbortReason reason : 8 = AbortReason::kNone;
  epoch::Epoch epoch : 56 = 0;  ///< the epoch of its serialization point
  TidWord tid = 0;              ///< the transaction's TID, status bits clear; 0 if it wrote nothing
};
static_assert(sizeof(CommitOutcome) == 2 * sizeof(std::uint64_t) && record::kEpochBits <= 56);

/// The names of the places between the steps at which tests stop a commit. An empty name: this kind of commit has no
/// such place.
struct CommitPoints {
  std::string_view locked = {}, validated = {}, prepared = {}, logged = {}, installed = {}, written_back = {};
};
inline void stop_at([[maybe_unused]] std::string_view point) {
  if constexpr (base::kTestHooks) {
    if (!point.empty()) base::sync_point(point);
  }
}

/// This node's part of a transaction. A failure of a participant in an HTM region need not be the transaction's:
/// commit_writes() (choose_participants.h) then tries the participant with locks (InRegion::needs_locks).
template <typename T>
concept LocalParticipant = requires(T& here, epoch::Epoch epoch, TidWord remote_bound, Decision& decision) {
  // It is false if the transaction only reads; its commit then ends with validate().
  { T::kWrites } -> std::convertible_to<bool>;
  // It is true if stamp() comes before validate() (TicToc), and false if it comes after prepare() of the other nodes.
  { T::kStampsFirst } -> std::convertible_to<bool>;
  // The argument says whether other nodes take part.
  { T::points(true) } -> std::same_as<CommitPoints>;
  // Claims the records to write. If it fails, it has given back all of them.
  { here.lock() } -> std::same_as<AbortReason>;
  // Checks that what was read has not changed, and that no other transaction has claimed it.
  { here.validate(epoch) } -> std::same_as<AbortReason>;
  // Chooses read_time() and tid() in the epoch. `remote_bound` is what the other nodes ask for: least_time() of a
  // protocol that stamps first, and otherwise greatest_tid() (I1).
  { here.stamp(epoch, remote_bound) } -> std::same_as<AbortReason>;
  // Takes the memory that install() needs, for old versions too (I16).
  { here.prepare(epoch) } -> std::same_as<AbortReason>;
  // Returns the time at which the reads have to hold. Called after stamp(), if the protocol stamps first.
  { here.read_time() } -> std::same_as<TidWord>;
  // Returns the transaction's TID, or 0 if it only reads. Called after stamp().
  { here.tid() } -> std::same_as<TidWord>;
  // Publishes the decision, and then makes the new values visible.
  { here.install(decision) } -> std::same_as<AbortReason>;
  // Gives back all that the steps of a failed commit have taken.
  { here.release() } -> std::same_as<void>;
};

/// The part of all other nodes, or of none (Nowhere). Most steps are those of RemoteCommit with the same names.
template <typename T>
concept RemoteParticipant = requires(T& there, epoch::Epoch& epoch, TidWord early_stamp, TidWord stamp, TidWord tid) {
  // It is false if the transaction has touched this node only.
  { T::kNodes } -> std::convertible_to<bool>;
  { there.list_writes() } -> std::same_as<bool>;
  { there.writes_nothing() } -> std::same_as<bool>;
  { there.lock() } -> std::same_as<AbortReason>;
  { there.held_until() } -> std::same_as<base::LeaseEnd>;
  // `epoch` comes in as E of this node, and goes out as the transaction's epoch (I7). `early_stamp` is the stamp as far
  // as it is known, if the protocol stamps first, and otherwise 0.
  { there.agree(epoch, early_stamp) } -> std::same_as<AbortReason>;
  // `stamp` is the transaction's stamp, if the protocol stamps first, and otherwise 0.
  { there.validate(stamp) } -> std::same_as<AbortReason>;
  // Prepares the other nodes. This is the last step that may wait (I30).
  { there.prepare(epoch) } -> std::same_as<AbortReason>;
  { there.greatest_tid() } -> std::same_as<TidWord>;
  { there.least_time() } -> std::same_as<TidWord>;
  { there.write_back(tid) } -> std::same_as<void>;
  { there.release() } -> std::same_as<void>;
};

}  // namespace granary::cc
