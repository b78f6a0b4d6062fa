#pragma once
// Writes a checkpoint: every record of the given tables as a pinned snapshot sees it, while transactions run.
//
// The snapshot stays pinned for the whole time, but epoch slots are entered only for pieces of a few hundred keys, so E
// goes on. A trailer is written only after all blocks of all partitions are, so no part of a checkpoint passes for a
// whole one. The caller keeps the manifest: it installs the checkpoint when D ≥ its epoch, and removes the previous
// checkpoint after that.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include <granary/status.h>

#include "recovery/checkpoint/format.h"
#include "recovery/checkpoint/snapshot_pin.h"
#include "src/base/file.h"
#include "src/cc/database_state.h"
#include "src/txn/table_core.h"

namespace granary::recovery::checkpoint {

struct WriteOptions {
  base::FileSystem* files = nullptr;
  std::string directory;  ///< made if it is missing; must be empty
  log::DatabaseId database{};
  log::Stamp stamp = 0;          ///< tells the files from those of another checkpoint at the same epoch; 0 = a new one
  std::uint32_t partitions = 1;  ///< files; 1 to kMaxPartitions
  std::uint32_t threads = 1;     ///< at least 1; each needs a free epoch slot
  double duty = 1.0;             ///< share of a core that each thread takes, above 0, at most 1: it sleeps accordingly
  std::uint64_t sync_bytes = std::uint64_t{32} << 20;  ///< a file is synced each time so many are new; 0 = at the end
  std::uint64_t leave_bytes = 0;  ///< stay free in the file system, or it fails with kDiskFull; 0 = no limit
  const std::atomic<bool>* cancel = nullptr;  ///< once set, the checkpoint ends soon, with kUnavailable
};

/// Writes the checkpoint. After an error, all that was written is removed as far as that is possible.
Result<Contents> write_checkpoint(const WriteOptions& options, cc::DatabaseState& shared, const SnapshotPin& pin,
                                  std::span<txn::TableCore* const> tables);

/// Removes a checkpoint's files, whether it is whole or not. Removes its directory, too, unless that holds other files.
/// Succeeds if there is no such checkpoint.
Status remove_checkpoint(base::FileSystem& files, const std::string& directory);

}  // namespace granary::recovery::checkpoint
