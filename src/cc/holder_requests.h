#pragma once
// What another node that writes a shared record back cannot do by one-sided operations, and so asks of the owner by message: to register what
// it has deleted for garbage collection.
//
// A worker of the owner answers, between its transactions; the caller's epoch slot is entered.

#include <string_view>

#include "src/cc/worker_state.h"

namespace granary::cc {

/// The key was deleted by a write-back of the TID word `tid`. If it is still that, garbage collection unhooks the record.
void note_removed(WorkerState& worker, Index& index, std::string_view key, TidWord tid);

}  // namespace granary::cc
