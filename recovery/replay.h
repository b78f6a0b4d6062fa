#pragma once
// Replays logs into the tables. Several threads each take the next megabyte, newest first, so that most values which
// were overwritten later are passed by without being copied. Parts of values are gathered beside the tables, and laid
// over their records at the end. If they take too much memory, the log is read once more, from its beginning, in
// stretches of epochs. The parts are laid over their records after each stretch, as nothing older can come then.

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

/// Returns the greatest epoch in rings; 0 if they are empty. Returns kDamaged if one holds something that is no
/// transaction.
Result<epoch::Epoch> greatest_epoch(std::span<const RingEntries> rings);

struct ReplayOptions {
  /// The checkpoint with which the tables were filled has the transactions of earlier epochs.
  epoch::Epoch from_epoch = 0;
  /// Whether all rings of the running generation are there. Then nothing of it is lost, so that epochs beyond D count,
  /// too.
  bool past_durable = false;
  /// This node's number if the log is another node's: then only its writes of this node's records count. None: only
  /// writes of the log's own node count.
  std::optional<std::uint32_t> home = std::nullopt;
  /// Gets the removals that have left absent records: older writes of their keys may be in other logs, after which
  /// remove_absents() takes them out. If it is null, there is no other log, and they are taken out at once.
  std::vector<Absent>* absents = nullptr;
  /// For a database that fills its memory, with one worker. Reads the log from its beginning in short stretches of
  /// epochs, and takes removed records out after each, as nothing older can come any more. So it needs hardly more
  /// memory than the database did when the log was written. `absents` stays empty. Writes that find no memory even so
  /// are left out and counted. The caller is alone, and epochs pass. Not for several logs that hold writes of the same
  /// keys.
  bool frugal = false;
  /// Whether something that counts is known to be missing, because damage is given up, or records found no memory. Then
  /// parts whose values are not there are counted and passed by; otherwise they are damage.
  bool incomplete = false;
  /// The option that sets the memory limit, for the message that the database does not fit.
  std::string limit_name = "Options::memory_limit_bytes";
  /// The memory that parts may take at once; 0: a share of the memory limit.
  std::uint64_t parts_bytes = 0;
  /// Is called now and then, by one thread at a time, with the bytes of the log that are done, and with all. If the
  /// replay goes in stretches, these are the bytes of the present one.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

struct ReplayStatistics {
  std::uint64_t bytes = 0;          ///< bytes of log files and rings
  std::uint64_t transactions = 0;   ///< transactions that count
  std::uint64_t writes = 0;         ///< writes of these transactions
  std::uint64_t elsewhere = 0;      ///< of these writes: passed by, as they are of other nodes' records
  std::uint64_t applied = 0;        ///< of these writes: the newest of their key when they came
  std::uint64_t dropped = 0;        ///< transactions beyond the cut
  std::uint64_t missing_bytes = 0;  ///< if frugal: an estimate of the memory for the writes that were left out
  Baseless baseless;                ///< counts records of which parts were passed by

  void add(const ReplayStatistics& more);
};

/// Replays all that counts, rings included, with a thread for each of `workers`, whose memory is used. `tables` are
/// those of the manifest by id, indexes included. No other thread uses tables or workers meanwhile. Returns kDamaged,
/// naming file and offset, if a transaction cannot be understood or writes to an unknown table; it names file and key
/// if a transaction writes a part of a value that is not there. Returns kResourceExhausted if the database does not fit
/// into its memory. After an error the tables are of no use.
Result<ReplayStatistics> replay(base::FileSystem& files, const LogScan& scan, std::span<const RingEntries> rings,
                                std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                const ReplayOptions& options);

}  // namespace granary::recovery
