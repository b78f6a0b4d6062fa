#pragma once
// Replays logs into the tables, with several threads, each taking the next megabyte, newest first: then most values
// that were overwritten later are passed by without being copied. Parts of values are gathered beside the tables and
// laid over their records at the end. If they take too much memory, the log is gone through once more, from its
// beginning, in stretches of epochs, and they are laid over their records after each: nothing older can come then.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "recovery/apply.h"
#include "recovery/log_scan.h"
#include "recovery/stretches.h"
#include "src/base/file.h"
#include "src/cc/worker_state.h"
#include "src/txn/table_core.h"

namespace granary::recovery {

/// The greatest epoch in rings; 0 if they are empty. kDamaged if one holds something that is no transaction.
Result<epoch::Epoch> greatest_epoch(std::span<const RingEntries> rings);

struct ReplayOptions {
  /// Transactions of epochs before are in the checkpoint, with which the tables were filled already.
  epoch::Epoch from_epoch = 0;
  /// All rings of the running generation are there: nothing of it is lost, so that epochs beyond D count, too.
  bool past_durable = false;
  /// The log is another node's: only its writes of this node's records count. None: only those of the log's own.
  std::optional<std::uint32_t> home = std::nullopt;
  /// Where removals are named that have left absent records: older writes of their keys may be in other logs, after
  /// which remove_absents() takes them out. None: there is no other log, and they are taken out at once.
  std::vector<Absent>* absents = nullptr;
  /// For a database that fills its memory, with one worker: goes through the log from its beginning in short stretches
  /// of epochs, and takes out what was removed after each, as nothing older can come any more. So it needs hardly more
  /// memory than was needed when the log was written. `absents` stays empty. What finds no memory all the same is left
  /// out and counted. The caller is alone, and epochs pass. Not for several logs that hold writes of the same keys.
  bool frugal = false;
  /// Something that counts is known to be missing: damage that is given up, or records that found no memory. Then parts
  /// of values that are not there are counted and passed by; otherwise they are damage.
  bool incomplete = false;
  /// Where the memory limit is set, for the message that the database does not fit.
  std::string limit_name = "Options::memory_limit_bytes";
  /// So much memory may parts take at once; 0: a share of the memory limit.
  std::uint64_t parts_bytes = 0;
  /// Called now and then, by one thread at a time: bytes of the log that are done, and all; of a replay in stretches,
  /// of each.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

struct ReplayStatistics {
  std::uint64_t bytes = 0;          ///< of log files and rings
  std::uint64_t transactions = 0;   ///< that count
  std::uint64_t writes = 0;         ///< of these
  std::uint64_t elsewhere = 0;      ///< of these: passed by, since they are of other nodes' records
  std::uint64_t applied = 0;        ///< of these: newest of their key when they came
  std::uint64_t dropped = 0;        ///< transactions beyond the cut
  std::uint64_t missing_bytes = 0;  ///< frugal: what the writes that were left out would likely take
  Baseless baseless;                ///< records of which parts were passed by

  void add(const ReplayStatistics& more);
};

/// Replays all that counts, rings included, with as many threads as there are `workers`, whose memory is used. `tables`
/// are those of the manifest by id, indexes included. Nobody else uses tables or workers meanwhile. kDamaged, naming
/// file and offset, if a transaction cannot be understood or writes to an unknown table, or file and key, if it writes
/// a part of a value that is not there; kResourceExhausted if the database does not fit into its memory. Then the
/// tables are of no use.
Result<ReplayStatistics> replay(base::FileSystem& files, const LogScan& scan, std::span<const RingEntries> rings,
                                std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                const ReplayOptions& options);

}  // namespace granary::recovery
