#pragma once
// What another node that writes a shared record back cannot do by one-sided operations, and so asks of the owner by message: to keep
// the version that it is about to overwrite (I12), and to register what it has deleted for garbage collection.
//
// A worker of the owner answers, between its transactions; the caller's epoch slot is entered.

#include <cstdint>
#include <string_view>

#include "src/cc/worker_state.h"
#include "src/record/state_word.h"

namespace granary::cc {

enum class Kept : std::uint8_t {
  kDone,         ///< snapshots find the version whatever is written over it, or none needs it
  kNotHeld,      ///< the key's record, if it has one, is not held under that x-lock (any more), or no holder says so
  kBusy,         ///< owners kept the record locked for the whole bounded wait: ask again
  kOutOfMemory,  ///< the write must not happen
};

/// I12: the holder of the key's record, whose x-lock word is `holder`, is going to write it back with a TID of `epoch`, and waits
/// for the answer, or gives its x-lock back unused. Holds for all epochs of the same snapshot period; if its epoch moves into
/// the next one it asks again.
Kept keep_version(WorkerState& worker, Index& index, std::string_view key, record::StateWord holder,
                  epoch::Epoch epoch);

/// The key was deleted by a write-back of the TID word `tid`. If it is still that, garbage collection unhooks the record.
void note_removed(WorkerState& worker, Index& index, std::string_view key, TidWord tid);

}  // namespace granary::cc
