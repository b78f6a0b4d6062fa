#pragma once
// Loads a checkpoint into tables, by any number of threads, or only verifies it.
//
// A record goes straight into the index; if the key is there already, the newer TID wins, so logs may be replayed
// before, meanwhile or after. Nothing is loaded from a block whose checksum is wrong; but a checkpoint that turns out
// damaged may be loaded in part: the tables are to be thrown away then.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <granary/status.h>

#include "recovery/checkpoint/format.h"
#include "src/base/file.h"
#include "src/cc/worker_state.h"
#include "src/txn/table_core.h"

namespace granary::recovery::checkpoint {

struct ReadOptions {
  base::FileSystem* files = nullptr;
  std::string directory;
  std::optional<log::DatabaseId> database;  ///< refuses another one's; none: takes any
  std::optional<epoch::Epoch> epoch;        ///< the same for the checkpoint's epoch
  std::optional<log::Stamp> stamp = {};     ///< the same for its stamp: it may be of a copy, or of another life
  /// Where the memory limit is set, for the message that it is too small.
  std::string limit_name = "Options::memory_limit_bytes";
  bool frugal = false;  ///< by one worker: packs indexes, and leaves out what finds no memory (Contents::missing_bytes)
  std::function<void(std::uint64_t bytes)> progress = {};  ///< of a block, after it; from any thread, several at once
};

/// Loads with one thread for each worker, each of which is idle; what is loaded counts as that worker's memory.
/// `tables` hold every table that the checkpoint has records of; transactions do not run yet.
Result<Contents> load_checkpoint(const ReadOptions& options, std::span<txn::TableCore* const> tables,
                                 std::span<cc::WorkerState* const> workers);

/// Reads and checks all of it, and counts.
Result<Contents> verify_checkpoint(const ReadOptions& options, std::uint32_t threads = 1);

}  // namespace granary::recovery::checkpoint
