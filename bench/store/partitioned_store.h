#pragma once
// The Partitioned-Store of Silo 5.4, after H-Store: each partition has trees of its own and one lock. A transaction
// takes the locks of all partitions in its footprint, in ascending order, and then runs as in a single-threaded store:
// no versions, no validation, no snapshots.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>

#include "bench/store/partitioned_transaction.h"
#include "src/memory/region.h"

namespace granary::bench::store {

class PartitionedStore {
 public:
  template <typename K, typename V>
  using Table = PartitionedTable<K, V>;
  using Transaction = PartitionedTransaction;
  using SnapshotReader = PartitionedTransaction;

  class Session {
   public:
    explicit Session(PartitionedStore& store) : store_(store) {}

    template <typename Body>
    Ending run(const Footprint& footprint, AbortCounts& aborts, Body&& body) {
      for (const std::uint32_t partition : footprint) store_.partitions_[partition]->lock.lock(waiter_);
      const Verdict verdict = body(transaction_);
      transaction_.end(verdict == Verdict::kCommit);
      store_.collect(footprint, ++ended_);
      for (const std::uint32_t partition : footprint) store_.partitions_[partition]->lock.unlock();
      if (verdict == Verdict::kCommit) return Ending::kCommitted;
      if (verdict == Verdict::kRollBack) return Ending::kRolledBack;
      ++aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)];  // under the locks no other error is possible
      return Ending::kGaveUp;
    }
    template <typename Body>
    Ending run_snapshot(const Footprint& footprint, AbortCounts& aborts, Body&& body) {
      return run(footprint, aborts, body);
    }
    void collect() {}

   private:
    PartitionedStore& store_;
    base::ThreadWaiter waiter_;
    PartitionedTransaction transaction_;
    std::uint64_t ended_ = 0;
  };

  static Result<std::unique_ptr<PartitionedStore>> open(const Options& options, std::uint32_t partitions);
  PartitionedStore(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes,
                   std::uint32_t partitions);

  /// Creates a table. Only for set-up, as it is not thread-safe.
  template <typename K, typename V>
  Result<PartitionedTable<K, V>> create_table(const std::string& name, std::uint32_t partition,
                                              const TableLayout& = {}) {
    Result<PartitionTree> tree = create_tree(name, partition);
    if (!tree.ok()) return tree.status();
    return PartitionedTable<K, V>{*tree};
  }
  bool splits_tables() const { return true; }
  Result<std::unique_ptr<Session>> session(std::uint64_t /*seed*/) { return std::make_unique<Session>(*this); }
  StoreFigures figures() const;

 private:
  Result<PartitionTree> create_tree(const std::string& name, std::uint32_t partition);
  /// Frees tree nodes now and then. Precondition: the locks of `footprint` are held. `turn` counts the caller's
  /// transactions.
  void collect(const Footprint& footprint, std::uint64_t turn);

  std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  std::mutex ticking_;  // its holder advances the epoch
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::vector<std::unique_ptr<kvstore::ordered::Tree>> trees_;
};

static_assert(Store<PartitionedStore>);

}  // namespace granary::bench::store
