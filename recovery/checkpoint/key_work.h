#pragma once
// Shares the keys among threads. Each thread takes a table and works through it piece by piece. When no table is left,
// it takes half of the share that another thread still has to do. So all are busy to the end, even with one big table.
//
// Every key of a table that was taken is done, or is in exactly one thread's share, or on its way from one share to
// another. A share changes only under its lock.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "recovery/checkpoint/table_range.h"
#include "src/base/cache_line.h"
#include "src/epoch/epoch.h"
#include "src/txn/table_core.h"

namespace granary::recovery::checkpoint {

class KeyWork {
 public:
  /// A part of a table that one thread has to do. The thread holds the lock while it does a piece.
  struct alignas(base::kCacheLine) Share {
    std::mutex mutex;
    txn::TableCore* table = nullptr;  ///< null if the thread has nothing to do
    TableRange range;
  };

  KeyWork(std::span<txn::TableCore* const> tables, epoch::EpochManager& epochs, unsigned threads);

  /// Gives thread `me` something to do. Returns false when all is done, or `stop` is set. Enters `slot` for moments.
  bool find(unsigned me, epoch::Slot& slot, const std::atomic<bool>& stop);
  Share& share(unsigned me) { return *shares_[me]; }
  /// Notes that all of the share is done. The caller has its lock.
  void finish(Share& share);

 private:
  bool take_table(unsigned me, epoch::Slot& slot);
  bool take_half(unsigned me, epoch::Slot& slot);

  const std::span<txn::TableCore* const> tables_;
  epoch::EpochManager& epochs_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::atomic<std::size_t> next_table_{0};  // any thread adds; one that finds no table left also sees busy_ raised
  // Counts the threads that have a share or are about to. A thread raises it before a table leaves the list, or keys
  // leave another share, and lowers it when its share is done (acquire-release). So all is done if it is 0 and no table
  // is left.
  std::atomic<unsigned> busy_{0};
};

}  // namespace granary::recovery::checkpoint
