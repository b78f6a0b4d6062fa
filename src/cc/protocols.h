#pragma once
// The protocols that this build has, and what the layers above ask of the one that their database has chosen (Options::protocol).

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "src/cc/access_set.h"
#include "src/cc/drtm/drtm.h"
#include "src/cc/elsewhere/remote_part.h"
#include "src/cc/participant.h"
#include "src/cc/protocol.h"
#include "src/cc/silo/silo.h"
#include "src/cc/tictoc/tictoc.h"
#include "src/cc/two_pl/two_pl.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

template <Protocol First, Protocol... Others>
struct Registry {
  static constexpr std::array<std::string_view, 1 + sizeof...(Others)> kNames{First::kName, Others::kName...};

  /// Returns the number of the guest with this name, which is its place in kNames, or nothing.
  static constexpr std::optional<std::uint8_t> number_of(std::string_view name) {
    const auto at = std::find(kNames.begin(), kNames.end(), name);
    if (at == kNames.end()) return std::nullopt;
    return static_cast<std::uint8_t>(at - kNames.begin());
  }

  /// Calls `use` with the guest of this number as its template argument. While there is one guest, that is a plain call.
  template <typename Use>
  static decltype(auto) with([[maybe_unused]] std::uint8_t number, const Use& use) {
    if constexpr (sizeof...(Others) > 0) {
      if (number != 0) return Registry<Others...>::with(static_cast<std::uint8_t>(number - 1), use);
    }
    return use.template operator()<First>();
  }
};

/// The registry of this build has all guests. The first is the default.
using Protocols = Registry<silo::Silo, tictoc::TicToc, two_pl::NoWait, two_pl::DeadlockDetect, drtm::DrTm>;

/// These tell what a protocol can do besides transactions of local tables, which all protocols can run.
struct Abilities {
  bool reaches_shared = false;     ///< shared tables, so nodes of a cluster
  bool commits_in_region = false;  ///< HTM regions
  bool runs_in_region = false;     ///< whole transactions do, so it needs HTM
  /// A transaction that begins when another one has committed is serial behind it, and has a greater TID if both are of one worker. If
  /// this is false, only their epochs are in that order.
  bool in_real_time = false;
  bool stamps_reads = false;  ///< it computes times from what was read (TicToc), and state words hold rts, never leases
  bool locks_reads =
      false;  ///< a record that is read cannot be written until the reader has ended, nor one that is written be read
  bool reads_parts = false;   ///< a part of a local record can be read alone, and written by itself under locks
  std::uint32_t workers = 0;  ///< so many at most; 0: as many as there may be anyway
};
/// Returns the abilities of the protocol with this number.
inline Abilities abilities_of(std::uint8_t protocol) {
  return Protocols::with(protocol, []<Protocol P> {
    return Abilities{
        .reaches_shared = ReachesShared<P>,
        .commits_in_region = CommitsInRegion<P>,
        .runs_in_region = RunsInRegion<P>,
        .in_real_time = !P::kStampsFirst,
        .stamps_reads = StampsReads<P>,
        .locks_reads = LocksRecords<P>,
        .reads_parts = ReadsParts<P>,
        .workers = LocksRecords<P> ? two_pl::kOwners : 0,
    };
  });
}

/// These read a record, or look at it, as the worker's protocol does (Protocol::read, Protocol::look).
inline record::StableRead read(Record& record, std::size_t key_bytes, std::span<char> buffer, WorkerState& worker,
                               AccessSet& access, TidWord& rts) {
  return Protocols::with(worker.protocol,
                         [&]<Protocol P> { return P::read(record, key_bytes, buffer, worker, access, rts); });
}
inline record::StableRead look(Record& record, WorkerState& worker, AccessSet& access, TidWord& rts) {
  return Protocols::with(worker.protocol, [&]<Protocol P> { return P::look(record, worker, access, rts); });
}

/// Remembers that the transaction has declared this record of the node, if its protocol cares (RunsInRegion).
void note_declared(Record& record, AccessSet& access, const WorkerState& worker);
/// Gives back what a transaction that has ended still holds (HeldLocks::any).
void let_go(AccessSet& access, WorkerState& worker);
/// Gives back the owner, too: the context will run no transaction for a while, and another one may own locks in its place.
void retire_owner(AccessSet& access, WorkerState& worker);

/// Commits a transaction of a database that is no node of a cluster, or aborts it (commit.h).
CommitOutcome commit(AccessSet& access, WorkerState& worker);
/// Commits or aborts a transaction on a node of a cluster, which may lose its right to commit at any time. The transaction needs that right
/// behind the last wait of the commit, and, if it has only read, behind its validation: what it reports must have held while nobody
/// counted the node as dead.
CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const Right& right);
/// Commits or aborts a transaction that has touched records of other nodes; it needs the same right.
CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right);

/// Returns whether the reads would pass now, for reporting an error only if it was seen in a consistent state. `stamp`: the least time at which
/// they have to hold, of a protocol that stamps first; and the least that the reads allow.
AbortReason validate(const AccessSet& access, WorkerState& worker, TidWord stamp);
TidWord stamp_of_reads(const AccessSet& access, const WorkerState& worker);

}  // namespace granary::cc
