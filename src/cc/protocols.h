#pragma once
// Lists the protocols that this build has, and has the functions by which the transaction layer (src/txn) uses the one
// that its database has chosen (Options::protocol). Each function dispatches by the protocol's number to a template
// over the protocol.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "src/cc/access_set.h"
#include "src/cc/commit_right.h"
#include "src/cc/drtm/drtm.h"
#include "src/cc/elsewhere/remote_commit.h"
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

  /// Calls `use` with the guest of this number as its template argument.
  template <typename Use>
  static decltype(auto) with([[maybe_unused]] std::uint8_t number, const Use& use) {
    if constexpr (sizeof...(Others) > 0) {
      if (number != 0) return Registry<Others...>::with(static_cast<std::uint8_t>(number - 1), use);
    }
    return use.template operator()<First>();
  }
};

/// All protocols of this build. The first is the default.
using Protocols = Registry<silo::Silo, tictoc::TicToc, two_pl::NoWait, two_pl::DeadlockDetect, drtm::DrTm>;

/// Tells what a protocol can do besides transactions of local tables, which all protocols can run.
struct Abilities {
  bool reaches_shared = false;     ///< it knows shared tables, so nodes of a cluster may use it
  bool commits_in_region = false;  ///< its commits can take effect in HTM regions
  bool runs_in_region = false;     ///< it runs whole transactions in HTM regions, so it needs HTM
  /// A transaction that begins after another one has committed comes later in the serial order, and has a greater TID
  /// if both are of one worker. If false, only their epochs are in that order.
  bool in_real_time = false;
  bool stamps_reads = false;  ///< it computes times from what was read (TicToc); state words hold rts and no leases
  /// A record that is read cannot be written until the reader has ended, nor one that is written be read.
  bool locks_reads = false;
  bool reads_parts = false;   ///< a part of a local record can be read alone, and written by itself under locks
  std::uint32_t workers = 0;  ///< the most workers that it can have; 0: it sets no limit
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

/// Returns Abilities::locks_reads of the worker's protocol.
inline bool locks_reads(const WorkerState& worker) {
  return Protocols::with(worker.protocol, []<Protocol P> { return LocksRecords<P>; });
}

/// Protocol::read and Protocol::look of the worker's protocol.
inline record::StableRead read(Record& record, std::size_t key_bytes, std::span<char> buffer, WorkerState& worker,
                               AccessSet& access, TidWord& rts) {
  return Protocols::with(worker.protocol,
                         [&]<Protocol P> { return P::read(record, key_bytes, buffer, worker, access, rts); });
}
inline record::StableRead look(Record& record, WorkerState& worker, AccessSet& access, TidWord& rts) {
  return Protocols::with(worker.protocol, [&]<Protocol P> { return P::look(record, worker, access, rts); });
}

/// ReadsParts::read_part of the worker's protocol. Precondition: Settings::reads_parts.
inline record::StableRead read_part(const Record& record, std::size_t from, std::span<char> buffer,
                                    const WorkerState& worker, TidWord& rts) {
  return Protocols::with(worker.protocol, [&]<Protocol P> {
    if constexpr (ReadsParts<P>) return P::read_part(record, from, buffer, worker, rts);
    return record::StableRead{};  // not reached, by the precondition
  });
}

/// Notes that the transaction has declared this record of this node, if its protocol makes use of that (RunsInRegion).
void note_declared(Record& record, AccessSet& access, WorkerState& worker);
/// Gives back what a transaction that has ended still holds. Called if AccessSet::must_let_go is set.
void let_go(AccessSet& access, WorkerState& worker) noexcept;
/// Gives back the context's owner of locks (HeldLocks::owner), so that another context can become that owner. Called
/// when the context will run no transaction for a while.
void retire_owner(AccessSet& access, WorkerState& worker);

// A transaction is alone, fenced or across nodes. Each function commits it or aborts it, and returns how it ended. The
// steps are those of commit.h.

/// Commits in a database that is no node of a cluster.
CommitOutcome commit_alone(AccessSet& access, WorkerState& worker);
/// Commits on a node of a cluster a transaction that has touched this node only. The node may lose its right to commit
/// at any time (I11). The transaction needs the right after the last wait of its commit. If it has only read, it needs
/// the right after its validation: what it reports must have held while no node counted this one as dead.
CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const CommitRight& right);
/// Commits on a node of a cluster a transaction that has touched other nodes, too.
CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemoteCommit& remote,
                                  const CommitRight& right);

/// Returns why the transaction's reads at this node would not pass validation now; kNone if they would. The caller
/// reports an error such as a violated unique index only if they do: then the error was seen in a consistent state.
/// `stamp`: under a protocol that stamps first, the least time at which the reads have to hold.
AbortReason validate_now(const AccessSet& access, WorkerState& worker, TidWord stamp);
/// Returns the least time that the reads at this node allow, under a protocol that stamps first, and otherwise 0.
TidWord stamp_of_reads(const AccessSet& access, const WorkerState& worker);

}  // namespace granary::cc
