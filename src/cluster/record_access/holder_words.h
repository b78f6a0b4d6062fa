#pragma once
// Where x-lock words come from: the only place, so that no two locks of one life of a node have the same word.

#include "src/record/state_word.h"

namespace granary::cluster {

/// A worker's.
class HolderWords {
 public:
  HolderWords(std::uint32_t node, std::uint32_t generation, std::uint32_t worker)
      : holder_{.node = node, .generation = generation, .worker = worker} {}

  /// For one x-lock: a word that was used is not used again, since a CAS whose completion was lost is told by it (I5).
  record::StateWord next() {
    ++holder_.sequence;
    return record::x_lock_word(holder_);
  }

 private:
  record::Holder holder_;
};

}  // namespace granary::cluster
