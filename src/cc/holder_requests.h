#pragma once
// Does for another node what its one-sided operations cannot do when it has written a record back: registers a removed
// record for garbage collection (I12). The other node asks for it by message. The owner's service calls this
// (src/cluster/messages), with a worker of its own whose epoch slot is entered.

#include <string_view>

#include "src/cc/worker_state.h"

namespace granary::cc {

/// Registers the record of a key that a write-back of the TID word `tid` has removed. Does nothing if the record has
/// another TID by now.
void note_removed(WorkerState& worker, Index& index, std::string_view key, TidWord tid);

}  // namespace granary::cc
