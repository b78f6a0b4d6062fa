#pragma once
// Applies TicToc to the shared records of this node, which other nodes reach one-sided. TicToc's functions (access.cc,
// validate.cc) call these for shared records. The rule is ours, and the model tests/models/tictoc_shared.pml checks it.
//
// Two rts. Neither side's atomics see the other's (I2), so a shared record has two rts. Other nodes raise the rts in
// the state word, by compare-and-swap. The owner's CPUs raise the rts in a word of their own. A writer of either side
// takes a time after both.
//
// Order. A reader of either side raises its own word first, and then looks at the other side's lock. A writer takes its
// lock first, and then reads the other side's rts. So either the writer finds the raised rts, or the reader finds the
// lock; in that case the reader does not rely on what it has raised. The owner's reader loads the state and then the
// TID word (I4). A reader at another node raises the state word, which fails if it is x-locked, and READs the header
// after that (src/cluster/record_access/extend.h).
//
// Belief. A reader at the owner believes both rts, unless it found them under an x-lock: the holder may then have
// written the TID of its version, but not yet cleared the owner's rts of the version before. A reader at another node
// believes only the state word's: the owner's rts may have been raised by a reader that found a lock and does not rely
// on it, and the words of one READ are not of one moment.
//
// X-locks. An x-lock takes the place of the rts in the state word. The holder puts the rts back if it gives the record
// back unchanged. The owner can set its lock bit only while there is no x-lock; at that moment it copies the state
// word's rts to its own word. So stamp() finds that rts even if other nodes take the record and give it back meanwhile.
//
// Dead nodes. An x-lock of a dead node is freed without the rts whose place it has taken, since only the dead node knew
// that rts. By then the epoch of every such rts is over at each home: nobody acts for a dead node before all others
// have been quiet, which is an epoch after they cut it off (src/node/survivor.h). A node that comes back lets the
// epochs pass in which others may have read records of its former life.

#include <span>

#include "src/cc/access_set.h"
#include "src/cc/protocol.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_read.h"

namespace granary::cc::tictoc {

/// Returns the rts that other nodes have given the record, or 0 while it is x-locked and only the holder knows the rts.
constexpr TidWord rts_of_state(record::StateWord state) { return record::is_x_locked(state) ? 0 : state; }

/// Reads the record, and sets `rts` to the time until which the version is known to be valid. `copy`: whether to copy
/// the value.
record::StableRead read_shared(const record::SharedRecord& record, std::size_t key_bytes, std::span<char> buffer,
                               bool copy, const WorkerState& worker, TidWord& rts);
/// Takes the lock bit, and raises the owner's rts to the state word's.
AbortReason claim_shared(record::SharedRecord& record, const WorkerState& worker, std::uint32_t turns);
/// Makes the version that was read valid until the moment.
AbortReason make_shared_valid(const ReadEntry& read, const Claims& claims, const Moment& moment,
                              const WorkerState& worker);
/// TicToc::may_leave_index() of a shared record.
bool shared_may_leave_index(const record::SharedRecord& record, const WorkerState& worker);

/// Returns the rts of a record that the transaction has claimed: claim_shared() has put the greater of both into this
/// word.
inline TidWord claimed_rts(const record::SharedRecord& record) { return base::load_word(&record.owner_rts_word); }

}  // namespace granary::cc::tictoc
