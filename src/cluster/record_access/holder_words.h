#pragma once
// Makes all x-lock words of a worker. Two locks of one life of a node get the same word only when nobody can hold or
// look for the first any more: a worker's number is used again only if the worker before has left nothing locked
// (src/node/cluster_thread.h), and a worker's sequence comes round after 2^27 locks.

#include "src/record/state_word.h"

namespace granary::cluster {

/// The words of one worker.
class HolderWords {
 public:
  HolderWords(std::uint32_t node, std::uint32_t generation, std::uint32_t worker)
      : holder_{.node = node, .generation = generation, .worker = worker} {}

  /// A word for one x-lock. The worker has used it for no other that it may still hold, since the word shows whether a
  /// CAS whose completion was lost took effect (I5).
  record::StateWord next() {
    ++holder_.sequence;
    return record::x_lock_word(holder_);
  }
  /// Whether the state word is an x-lock of this worker.
  bool has_made(record::StateWord word) const {
    record::Holder holder = record::holder_of(word);
    holder.sequence = holder_.sequence;
    return record::is_x_locked(word) && record::x_lock_word(holder) == record::x_lock_word(holder_);
  }

 private:
  record::Holder holder_;
};

}  // namespace granary::cluster
