#include "kvstore/common/node_memory.h"

namespace granary::kvstore {

std::size_t NodeMemory::reclaim(std::size_t budget) {
  return limbo_.reclaim(epochs_.tree_reclamation(), budget, [this](void* block) { free_unpublished(block); });
}

}  // namespace granary::kvstore
