#pragma once
// Keeps the ordered indexes of a database small while it is loaded frugally. Keys that come in another order than they once did
// split leaves that had been filled: those of the log fall between those of a checkpoint, which came in order. So an index
// that filled its share of the memory could need up to twice as many leaves as it had.

#include <cstdint>
#include <span>

#include "src/cc/worker_state.h"
#include "src/txn/table_core.h"

namespace granary::recovery {

class PackedIndexes {
 public:
  /// `tables`: holes are null. All nodes that are made from now on are of this worker's memory.
  PackedIndexes(std::span<txn::TableCore* const> tables, cc::WorkerState& worker) : tables_(tables), worker_(worker) {}

  /// Packs all indexes if their nodes have grown by a small share of the memory limit since the last time: seldom enough to cost
  /// little more than the inserts do. Nobody else uses the tables, and the caller holds no place in an index.
  void look();

 private:
  const std::span<txn::TableCore* const> tables_;
  cc::WorkerState& worker_;
  std::int64_t packed_bytes_ = 0;  // of tree nodes, when all had been packed
};

}  // namespace granary::recovery
