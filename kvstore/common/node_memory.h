#pragma once
// What an index needs of its caller to change itself: one worker's slabs for new nodes, and the list where
// unlinked nodes wait until no reader can hold them.

#include <cstddef>

#include "src/epoch/epoch.h"
#include "src/epoch/limbo.h"
#include "src/memory/slab.h"

namespace granary::kvstore {

/// One worker's node memory; used by one thread at a time. Whoever calls an operation of an index holds an
/// entered epoch slot for as long as it keeps node pointers.
class NodeMemory {
 public:
  NodeMemory(memory::SlabCache& slabs, epoch::EpochManager& epochs) : slabs_(slabs), epochs_(epochs) {}

  /// nullptr when the memory limit is reached.
  void* allocate(std::size_t bytes) { return slabs_.allocate(memory::SlabKind::kNode, bytes); }
  /// Frees at once a block that no other thread ever saw.
  void free_unpublished(void* block) { slabs_.free(memory::SlabKind::kNode, block); }
  /// Frees an unlinked block once every reader that may have seen it is gone. The caller's own slot is
  /// entered, so E is at most one more than what is read here, even if the read passed the unlinking
  /// stores: a reader that still saw the block has e_w ≤ the epoch registered.
  void retire(void* block) { limbo_.add(epochs_.current() + 1, block); }
  /// Frees what has become safe, at most `budget` blocks; called between transactions.
  std::size_t reclaim(std::size_t budget);
  std::size_t waiting() const { return limbo_.size(); }

 private:
  memory::SlabCache& slabs_;
  epoch::EpochManager& epochs_;
  epoch::LimboList<void*> limbo_;
};

}  // namespace granary::kvstore
