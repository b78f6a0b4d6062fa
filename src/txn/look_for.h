#pragma once
// Searches an index for a key, for operations of transactions and snapshots: at once, or in turns with other
// transactions of the worker (together.h).

#include <string_view>

#include "src/cc/index.h"
#include "src/txn/worker_core.h"

namespace granary::txn {

[[gnu::noinline]] inline cc::Lookup look_for_in_turns(Together& others, const cc::Index& index, std::string_view key) {
  return index.find_in_turns(key, [&others] { others.turn(); });
}

/// Searches the index. Other transactions of the worker may have run when it returns. Always inlined, as Index::find()
/// is.
[[gnu::always_inline]] inline cc::Lookup look_for(const WorkerCore& worker, const cc::Index& index,
                                                  std::string_view key) {
  if (Together* const others = worker.in_turns(); others != nullptr) [[unlikely]]
    return look_for_in_turns(*others, index, key);
  return index.find(key);
}

}  // namespace granary::txn
