#include "kvstore/common/node_memory.h"

namespace granary::kvstore {

std::size_t NodeMemory::reclaim(std::size_t budget) {
  return limbo_.reclaim(epochs_.tree_reclamation(), budget,
                        [this](Retired retired) { free_unpublished(retired.block(), retired.kind()); });
}

}  // namespace granary::kvstore
