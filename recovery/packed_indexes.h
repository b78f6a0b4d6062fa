#pragma once
// Keeps the ordered indexes of a database small while it is loaded frugally. A checkpoint's keys come in order and fill
// their leaves. The log's keys come after them, in the order in which they were written, and each of them may split a
// full leaf. Without packing, an index could need twice as many leaves as it had when the database ran, and the
// database would not fit into its memory.

#include <cstdint>
#include <span>

#include "src/cc/worker_state.h"
#include "src/txn/table_core.h"

namespace granary::recovery {

class PackedIndexes {
 public:
  /// Holes of `tables` are null. All nodes that are made from now on use this worker's memory.
  PackedIndexes(std::span<txn::TableCore* const> tables, cc::WorkerState& worker) : tables_(tables), worker_(worker) {}

  /// Packs all indexes if their nodes have grown by a small share of the memory limit since the last packing. Each
  /// packing visits at most some dozen leaves for each split since the one before. Packed leaves are full, so with keys
  /// in random order each of the next inserts splits one, and all packings together may cost some fifteen times as much
  /// as the inserts. No other thread uses the tables, and the caller holds no place in an index.
  void look();

 private:
  const std::span<txn::TableCore* const> tables_;
  cc::WorkerState& worker_;
  std::int64_t packed_bytes_ = 0;  // the size of tree nodes at the end of the last packing
};

}  // namespace granary::recovery
