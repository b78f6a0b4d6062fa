#pragma once
// Shares the keys among threads: each takes a table, works through it piece by piece, and when no table is left, takes
// half of what another one still has to do. So all are busy to the end, also with one big table.
//
// Every key of every table's range is in exactly one thread's share, or done: a share changes only under its lock.

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
  /// A thread's share. The thread holds the lock while it does a piece.
  struct alignas(base::kCacheLine) Share {
    std::mutex mutex;
    txn::TableCore* table = nullptr;  ///< null: nothing
    TableRange range;
  };

  KeyWork(std::span<txn::TableCore* const> tables, epoch::EpochManager& epochs, unsigned threads);

  /// Gives thread `me` something to do; false when all is done, or `stop` is set. Enters `slot` for moments.
  bool find(unsigned me, epoch::Slot& slot, const std::atomic<bool>& stop);
  Share& share(unsigned me) { return *shares_[me]; }
  /// The share's lock is held: all of it is done.
  void finish(Share& share);

 private:
  bool take_table(unsigned me, epoch::Slot& slot);
  bool take_half(unsigned me, epoch::Slot& slot);

  const std::span<txn::TableCore* const> tables_;
  epoch::EpochManager& epochs_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::atomic<std::size_t> next_table_{0};  // added to by all threads; who finds it used up also sees busy_ raised
  // Threads that have a share or are about to. Raised before what it counts leaves the table list or another share,
  // lowered when a share is done (acquire-release): 0 and no table left means that all is done.
  std::atomic<unsigned> busy_{0};
};

}  // namespace granary::recovery::checkpoint
