#pragma once
// Makes one change of a chain: takes the chain's lock, finds the key, and stamps the versions around its stores.

#include "kvstore/common/backoff.h"
#include "kvstore/hash/table.h"

namespace granary::kvstore::hash {

/// Holds the lock of one chain as long as it lives. Before open() nothing has changed; if it ends then, the version
/// stays as it was.
class Change {
 public:
  Change(const Table& table, Bucket& main);
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  /// Returns the slot that holds the key, or nullptr.
  Slot* find(const HashedKey& key) const;
  /// Returns the first free slot, in the order in which lookups of the key read, or nullptr if the chain is full.
  Slot* free_slot(unsigned home) const;

  /// Stamps every line odd. From now on no lookup accepts anything that it reads in the chain.
  void open();
  /// Links a new indirect header to the end of the chain. Called after open().
  void append(Bucket& header);

  Version before() const { return before_; }
  Version after() const { return after_; }

 private:
  template <typename Do>
  void for_each_line(Do&& act);
  bool all_lines_odd();

  const Table& table_;
  Bucket& main_;
  Version before_ = 0;
  Version after_ = 0;
  bool changes_ = false;
};

}  // namespace granary::kvstore::hash
