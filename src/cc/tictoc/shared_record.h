#pragma once
// TicToc on records that other nodes reach. Such a record has two rts, since neither side's atomics see the other's (I2): other nodes raise the
// state word's, by compare-and-swap, and the owner's CPUs raise a word of their own. A writer at either side goes beyond both. A reader at the
// owner believes both; one at another node believes the state word's only, as the owner's may have been raised in vain.
//
// Either side raises its own word first and then looks at the other side's lock. So a writer of the other side finds the raised word, or the
// reader finds its lock. The owner looks at the state and then at the TID word (I4); a reader at another node raises the state word, which
// fails if it is x-locked, and READs the header behind that (src/cluster/record_access/extend.h).
//
// An x-lock takes the place of the rts in the state word, and its holder puts that back if he gives the record back unchanged. The owner can lock
// only while there is no x-lock. So it loads the rts at that moment and keeps it in the word of its own, where stamp() finds it even if others
// take the record and give it back meanwhile.
//
// A dead node's x-locks are freed without the rts that they had taken the place of, which nobody else knows. That is right, since the epoch of all
// such rts is over at each home by then: nobody acts for a dead node before all others have been quiet, which is an epoch after they cut it
// off (src/node/survivor.h). A node that comes back lets the epochs pass in which others may have read records of its former life.
//
// Checked as a model: tests/models/tictoc_shared.pml.

#include <span>

#include "src/cc/access_set.h"
#include "src/cc/protocol.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_read.h"

namespace granary::cc::tictoc {

/// Returns the rts that other nodes have given the record, or 0 while it is x-locked and only the holder knows the rts.
constexpr TidWord rts_of_state(record::StateWord state) { return record::is_x_locked(state) ? 0 : state; }

/// Copies the record (`copy`), or only looks at it, with the time until which it is known to be valid.
record::StableRead read_shared(const record::SharedRecord& record, std::size_t key_bytes, std::span<char> buffer,
                               bool copy, const WorkerState& worker, TidWord& rts);
/// Takes the lock bit, and the state word's rts into the owner's.
AbortReason claim_shared(record::SharedRecord& record, const WorkerState& worker, std::uint32_t turns);
/// Makes the version that was read valid until the moment.
AbortReason make_shared_valid(const ReadEntry& read, const Claims& claims, const Moment& moment,
                              const WorkerState& worker);
/// TicToc::may_leave_index() of a shared record.
bool shared_may_leave_index(const record::SharedRecord& record, const WorkerState& worker);

/// Returns the greatest rts of a claimed record.
inline TidWord claimed_rts(const record::SharedRecord& record) { return base::load_word(&record.owner_rts_word); }

}  // namespace granary::cc::tictoc
