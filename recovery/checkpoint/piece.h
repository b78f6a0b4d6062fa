#pragma once
// Copies a piece of a thread's range while its epoch slot is entered. A piece is small enough that E does not wait for
// it.

#include <cstddef>
#include <string>
#include <string_view>

#include "recovery/checkpoint/format.h"
#include "recovery/checkpoint/partition_file.h"
#include "recovery/checkpoint/table_range.h"
#include "src/base/waiter.h"
#include "src/epoch/epoch.h"
#include "src/record/record.h"

namespace granary::recovery::checkpoint {

/// Copies the records that a snapshot sees into a block, which must have room for one, and counts them.
class Piece final : private kvstore::ordered::ScanVisitor {
 public:
  /// The number of keys, absent ones included, and of buckets that are looked at in one piece.
  static constexpr std::size_t kKeys = 256;

  Piece(epoch::Epoch snapshot, base::Waiter& waiter, BlockBuffer& block, TableCount& count)
      : snapshot_(snapshot),
        waiter_(waiter),
        block_(block),
        count_(count) {}

  /// Copies the piece and takes it off the range. Returns false if nothing is left of the range. Called once for each
  /// piece.
  bool run(cc::Index& index, TableRange* range);
  /// Whether another node did not let go of a record of a shared table. Then the piece lacks it, and the checkpoint
  /// fails.
  bool held() const { return held_; }

 private:
  bool run_keys(const kvstore::ordered::Tree& tree, KeyRange* range);
  bool run_buckets(const kvstore::hash::Table& table, BucketRange* range);
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view key, kvstore::ordered::Value value) override;
  void copy(std::string_view key, const record::Record& head);
  bool over() const { return seen_ >= kKeys || block_.full() || held_; }

  const epoch::Epoch snapshot_;
  base::Waiter& waiter_;
  BlockBuffer& block_;
  TableCount& count_;
  std::size_t seen_ = 0;
  bool held_ = false;
  std::string last_key_;  // where an ordered table's piece ended, if there may be more
};

}  // namespace granary::recovery::checkpoint
