#pragma once
// Slabs, epochs and a main header around a hash table, as an engine would provide them.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "kvstore/hash/table.h"

namespace granary::kvstore::hash::test {

/// The memory of one test: a region, its pool, and the epochs.
struct Pool {
  explicit Pool(std::uint64_t limit_bytes = 0)
      : region(memory::Region::map({.reserve_bytes = std::uint64_t{64} << 20, .huge_pages = HugePages::kOff}).value()),
        slabs(*region, {.limit_bytes = limit_bytes}),
        epochs(epoch::EpochOptions{}) {}

  /// Zeroed, as a region is until it is used.
  std::span<Bucket> main_header(std::uint64_t buckets) {
    constexpr std::uint64_t kExtent = memory::SlabPool::kExtentBytes;
    char* const memory = region->take((buckets * sizeof(Bucket) + kExtent - 1) / kExtent * kExtent);
    return {reinterpret_cast<Bucket*>(memory), buckets};
  }

  std::shared_ptr<memory::Region> region;
  memory::SlabPool slabs;
  epoch::EpochManager epochs;
};

/// What one thread needs to use a table; its epoch slot is entered from construction on, except inside rest().
class Worker {
 public:
  explicit Worker(Pool& pool)
      : pool_(pool),
        slabs(pool.slabs),
        memory(slabs, pool.epochs),
        slot_(pool.epochs.acquire_slot()) {
    enter();
  }
  ~Worker() {
    leave();
    pool_.epochs.release_slot(slot_);
  }
  Worker(const Worker&) = delete;

  void enter() { pool_.epochs.enter(*slot_); }
  void leave() { pool_.epochs.leave(*slot_); }
  /// Between two transactions: lets the epoch pass and frees what has become safe.
  void rest() {
    leave();
    memory.reclaim(64);
    enter();
  }

 private:
  Pool& pool_;

 public:
  memory::SlabCache slabs;
  NodeMemory memory;

 private:
  epoch::Slot* slot_;
};

/// A table of so many buckets, for one thread.
struct Fixture {
  explicit Fixture(std::uint64_t buckets, std::uint64_t limit_bytes = 0)
      : pool(limit_bytes),
        worker(pool),
        table(pool.main_header(buckets), pool.region->base()) {}

  /// An address in the region that stands for record `number`.
  Value value(std::uint64_t number) const { return reinterpret_cast<Value>(pool.region->base()) + 64 * (number + 1); }
  bool insert(std::string_view key, std::uint64_t number) {
    return table.insert_if_absent(key, value(number), worker.memory).what == InsertResult::What::kInserted;
  }

  Pool pool;
  Worker worker;
  Table table;
};

inline std::string number_key(std::uint64_t number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }

}  // namespace granary::kvstore::hash::test
