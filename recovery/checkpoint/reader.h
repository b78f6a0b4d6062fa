#pragma once
// Loads a checkpoint into tables, by any number of threads, or only verifies it.
//
// A record goes straight into the index. If the key is there already, the newer TID wins, so logs may be replayed
// before, meanwhile or after. Nothing is loaded from a block whose checksum is wrong. But a checkpoint may be loaded in
// part before it turns out to be damaged: then the tables are to be thrown away.

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
  std::optional<log::DatabaseId> database;  ///< refuses a checkpoint of another database; none: takes any
  std::optional<epoch::Epoch> epoch;        ///< refuses a checkpoint of another epoch; none: takes any
  std::optional<log::Stamp> stamp = {};     ///< refuses another stamp, as a copy's that went on by itself
  /// The option that sets the memory limit, for the message that the limit is too small.
  std::string limit_name = "Options::memory_limit_bytes";
  bool frugal = false;  ///< one worker: packs indexes, and leaves out what finds no memory (Contents::missing_bytes)
  std::function<void(std::uint64_t bytes)> progress = {};  ///< gets each block's size; from any thread, several at once
};

/// Loads with one thread for each worker. The workers are idle, and the memory that is used counts as theirs. `tables`
/// has every table that the checkpoint has records of. Transactions do not run yet.
Result<Contents> load_checkpoint(const ReadOptions& options, std::span<txn::TableCore* const> tables,
                                 std::span<cc::WorkerState* const> workers);

/// Reads and checks the whole checkpoint, and counts its contents.
Result<Contents> verify_checkpoint(const ReadOptions& options, std::uint32_t threads = 1);

}  // namespace granary::recovery::checkpoint
