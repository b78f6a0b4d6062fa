#pragma once
// Slabs, epochs and a few helpers around a tree, as an engine would provide them.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered::test {

/// The memory of one test: a region, its pool, and the epochs.
struct Pool {
  explicit Pool(std::uint64_t limit_bytes = 0)
      : region(memory::Region::map({.reserve_bytes = std::uint64_t{64} << 20, .huge_pages = HugePages::kOff}).value()),
        slabs(*region, {.limit_bytes = limit_bytes}),
        epochs(epoch::EpochOptions{}) {}

  std::unique_ptr<memory::Region> region;
  memory::SlabPool slabs;
  epoch::EpochManager epochs;
};

/// What one thread needs to use a tree; its epoch slot is entered from construction on, except inside rest().
struct Worker {
  explicit Worker(Pool& pool)
      : pool_(pool),
        cache(pool.slabs),
        memory(cache, pool.epochs),
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
  void rest(std::size_t budget = 64) {
    leave();
    memory.reclaim(budget);
    enter();
  }
  /// Frees everything; only while no other worker is inside.
  void drain() {
    leave();
    for (int i = 0; i < 8; ++i) pool_.epochs.tick();
    memory.reclaim(~std::size_t{0});
    EXPECT_EQ(memory.waiting(), 0u);
    enter();
  }

 private:
  Pool& pool_;

 public:
  memory::SlabCache cache;
  NodeMemory memory;

 private:
  epoch::Slot* slot_;
};

/// Collects what a scan reports.
class Collector : public ScanVisitor {
 public:
  explicit Collector(std::size_t limit = ~std::size_t{0}) : limit_(limit) {}
  virtual ~Collector() = default;
  void on_leaf(const Leaf* leaf, Version version) override { leaves.emplace_back(leaf, version); }
  bool on_entry(std::string_view key, Value value) override {
    entries.emplace_back(std::string(key), value);
    return entries.size() < limit_;
  }

  std::vector<std::pair<const Leaf*, Version>> leaves;
  std::vector<std::pair<std::string, Value>> entries;

 private:
  std::size_t limit_;
};

template <unsigned Width>
bool inserted(BasicTree<Width>& tree, std::string_view key, Value value, Worker& worker) {
  return tree.insert_if_absent(key, value, worker.memory).what == InsertResult::What::kInserted;
}

/// Eight bytes, first byte most significant.
inline std::string number_key(std::uint64_t number) {
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8) key[static_cast<std::size_t>(i)] = static_cast<char>(number);
  return key;
}

/// Runs each test with the engine's width and with a tiny one, in which nearly every insert splits something.
template <typename AnyTree>
class EachWidth : public ::testing::Test {};
using Widths = ::testing::Types<Tree, TinyTree>;

}  // namespace granary::kvstore::ordered::test
