#pragma once
// Looks at all logs of a database before anything is replayed: finds their segments, whether they are whole, and up to
// which epoch they count.
//
// A logger's log holds everything up to `complete` of its last marker before the first fault. The running generation
// counts up to D, the least of these epochs over all loggers (Silo 4.10); a generation that is over counts up to its
// cut. The manifest names a generation only after each of its loggers had a marker on the device, so a log without a
// marker has lost it. D may be less than E was when the machine stopped. But if it is less than an epoch that a marker
// names as durable, something was lost.
//
// No segment may be missing. The manifest names the first one, and each but the last names the next. The manifest also
// says where a generation ends that is over.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "recovery/segment_scan.h"
#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::recovery {

struct ScanOptions {
  unsigned threads = 1;
  /// How much memory the threads may take together, each of which holds a whole segment. One of them takes what it
  /// needs in any case. 0: no limit.
  std::uint64_t memory_bytes = 0;
  /// Whether to go on where something durable is lost, and to report the losses in `losses`.
  bool salvage = false;
  /// Whether `files` are those of another process, which sends them. A read that fails says nothing of their device
  /// then, and ends a salvage, too.
  bool sent = false;
  /// Whether the manifest is another node's. That node may have begun a newer generation by now, and a running
  /// generation in the manifest means nothing unless `up_to` says how far it counts.
  bool elsewhere = false;
  /// The node for whose records' writes the log is read, if it is another node's log. Transactions without such writes
  /// are not replayed.
  std::optional<std::uint32_t> home{};
  /// Says that the last generation of the manifest, if it is not over, is being written by a process that goes on with
  /// it. The generation counts up to this epoch, and nothing after it is looked at, whole or not. The scan returns
  /// kUnavailable if the log does not reach this epoch yet.
  std::optional<epoch::Epoch> up_to{};
  /// Gets the size of each segment after it was read; from any thread, several at once.
  std::function<void(std::uint64_t bytes)> progress{};
};

/// The end of a log that was being written when the machine or the process stopped. Nothing durable is in it.
struct DroppedTail {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< up to the file's end
  std::string cause;
};

/// A durable part of the log that is not whole. Only with salvage.
struct Loss {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;                       ///< unreadable bytes; 0 if the file is missing
  epoch::Epoch first_epoch = 0, last_epoch = 0;  ///< transactions of these epochs may be lost
  std::string cause;
};

struct LogSegment : ScannedSegment {
  epoch::Epoch limit = 0;  ///< transactions up to this epoch count: up to the generation's cut, or D
  bool running = false;    ///< whether its generation has no cut
};

/// The place where the log of one logger in the running generation can no longer be read.
struct ReadableEnd {
  std::string path;
  log::Position position;
  std::string cause;
};

struct LogScan {
  std::vector<LogSegment> segments;  ///< the segments that count, by generation, logger, sequence
  /// The D of the running generation, but no less than what the checkpoint holds. Without a running generation, the
  /// last cut.
  epoch::Epoch durable = 0;
  epoch::Epoch greatest_epoch = 0;  ///< the greatest epoch that was ever used, as far as manifest and log tell
  epoch::Epoch released = 0;        ///< the epoch up to which the cluster had released results, as far as the log tells
  std::vector<ReadableEnd> ends;    ///< by logger, for the running generation, if there is one
  std::vector<DroppedTail> tails;
  std::vector<Loss> losses;
  /// Segments of an opening that was not completed. They hold nothing but copies, and the next opening removes them
  /// first.
  std::vector<std::string> abandoned;
  std::vector<std::string> superseded;  ///< segments that the checkpoint has made needless; may be removed
  std::uint64_t kept = 0;               ///< how many of `segments` add_kept_log() has added
  std::uint64_t bytes = 0, transactions = 0;
};

/// Scans the logs. Returns kDamaged, naming file, offset, cause and epochs, if anything durable is missing;
/// kUnavailable if a log that is being written has not reached ScanOptions::up_to; other codes if a directory or file
/// cannot be read.
Result<LogScan> scan_logs(base::FileSystem& files, const Manifest& manifest, const ScanOptions& options);

/// Adds to the scan of a cluster's node the segments that other nodes may need although this node's own checkpoint has
/// made them needless for the node itself. A checkpoint holds only the records of its own node, but the node's log also
/// has writes of other nodes' records. So the manifest names a generation until every node has a later checkpoint. The
/// segments of these generations are read as for a node without a checkpoint. Errors are those of scan_logs().
Status add_kept_log(base::FileSystem& files, const Manifest& manifest, ScanOptions options, LogScan& scan);

}  // namespace granary::recovery
