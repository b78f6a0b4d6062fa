#pragma once
// One partition of the Partitioned-Store (Silo 5.4): trees and records without concurrency control behind one lock.

#include <atomic>
#include <cstdint>
#include <memory>

#include "kvstore/common/node_memory.h"
#include "kvstore/ordered/tree.h"
#include "src/base/cache_line.h"
#include "src/base/waiter.h"
#include "src/epoch/epoch.h"
#include "src/memory/slab.h"

namespace granary::bench::store {

/// A spinlock on a cache line of its own, so that an uncontended lock stays in its last holder's cache.
class alignas(base::kCacheLine) PartitionLock {
 public:
  void lock(base::Waiter& waiter) {
    std::uint32_t turn = 0;
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) waiter.pause(turn++);
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  // Set by the thread that takes the partition, cleared by its holder. Acquire on taking pairs with release on giving
  // back, so everything in the partition is plain memory to its holder.
  std::atomic<bool> held_{false};
};

/// The memory that the lock guards. The trees themselves belong to the store's tables.
struct Partition {
  Partition(memory::SlabPool& pool, epoch::EpochManager& epochs) : slabs(pool), nodes(slabs, epochs) {}

  PartitionLock lock;
  memory::SlabCache slabs;
  kvstore::NodeMemory nodes;
};

/// A tree of one partition; rows lie in blocks of the partition's slabs.
struct PartitionTree {
  Partition* partition = nullptr;
  kvstore::ordered::Tree* tree = nullptr;
};

}  // namespace granary::bench::store
