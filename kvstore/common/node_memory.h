#pragma once
// Gives an index the memory that it needs to change itself: one worker's slabs for new nodes, and the list where
// unlinked nodes wait until no reader can hold them.

#include <cstddef>
#include <cstdint>

#include "src/epoch/epoch.h"
#include "src/epoch/limbo.h"
#include "src/memory/slab.h"

namespace granary::kvstore {

/// The use of a block. A block that held a node of an ordered index never holds anything but such nodes.
enum class BlockKind : std::uint8_t { kOther, kTreeNode };

/// The node memory of one worker, which one thread at a time uses. A caller of an index's operation keeps an epoch slot
/// entered for as long as it keeps node pointers.
class NodeMemory {
 public:
  NodeMemory(memory::SlabCache& slabs, epoch::EpochManager& epochs) : slabs_(slabs), epochs_(epochs) {}

  /// Returns a block, or nullptr when the memory limit is reached.
  void* allocate(std::size_t bytes, BlockKind kind = BlockKind::kOther) {
    return slabs_.allocate(slab_kind(kind), bytes, memory::Urgency::kIndex);
  }
  /// Frees at once a block that no other thread ever saw.
  void free_unpublished(void* block, BlockKind kind = BlockKind::kOther) { slabs_.free(slab_kind(kind), block); }
  /// Frees an unlinked block once every reader that may have seen it is gone. The caller's own slot is
  /// entered, so E is at most one more than what is read here, even if the read passed the unlinking
  /// stores: a reader that still saw the block has e_w ≤ the epoch registered.
  ///
  /// The caller holds locks, and has changed what cannot be undone. So this never throws: if the system has no memory
  /// for the list of garbage, the block is never used again.
  void retire(void* block, BlockKind kind = BlockKind::kOther) noexcept {
    static_cast<void>(limbo_.try_add(epochs_.current() + 1, {block, kind}));
  }
  /// Frees what has become safe, at most `budget` blocks; called between transactions.
  std::size_t reclaim(std::size_t budget);
  std::size_t waiting() const { return limbo_.size(); }

 private:
  static constexpr memory::SlabKind slab_kind(BlockKind kind) {
    return kind == BlockKind::kTreeNode ? memory::SlabKind::kTreeNode : memory::SlabKind::kNode;
  }
  /// Holds a block and its kind in one word, which is possible because blocks are aligned.
  class Retired {
   public:
    Retired() = default;
    Retired(void* block, BlockKind kind)
        : word_(reinterpret_cast<std::uintptr_t>(block) | (kind == BlockKind::kTreeNode ? 1 : 0)) {}
    void* block() const { return reinterpret_cast<void*>(word_ & ~std::uintptr_t{1}); }
    BlockKind kind() const { return (word_ & 1) != 0 ? BlockKind::kTreeNode : BlockKind::kOther; }

   private:
    std::uintptr_t word_ = 0;
  };

  memory::SlabCache& slabs_;
  epoch::EpochManager& epochs_;
  epoch::LimboList<Retired> limbo_;
};

}  // namespace granary::kvstore
