#pragma once
// Looks at all logs of a database before anything is replayed: which segments there are, whether they are whole, and
// up to which epoch they count.
//
// A logger's log holds everything up to `complete` of its last marker before the first fault. The running generation
// counts up to D, the least of these (Silo 4.10); one that is over, up to its cut. A generation is in the manifest only
// after each of its loggers had a marker on the device, so a log without one lost it. D may be less than E was when the
// machine stopped. If it is less than an epoch that a marker names as durable, something was lost.
//
// No segment may be missing: the manifest names the first one, each but the last names the next, and where a generation
// ends that is over, the manifest says.

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
  /// Go on where something durable is lost, and say in `losses` what.
  bool salvage = false;
  /// The manifest is another node's, which may have begun a newer generation by now. A running generation in it is
  /// without meaning unless `up_to` says how far it counts.
  bool elsewhere = false;
  /// The node whose records' writes the log is read for, if it is another node's log. What has none is not replayed.
  std::optional<std::uint32_t> home{};
  /// The last generation of the manifest, if it is not over, is being written by a process that goes on with it. It
  /// counts up to this epoch, and what stands behind is not looked at, whole or not. kUnavailable if its log is not
  /// there so far.
  std::optional<epoch::Epoch> up_to{};
  /// Told of a segment's bytes after it was read; from any thread, several at once.
  std::function<void(std::uint64_t bytes)> progress{};
};

/// The end of a log that was being written when the machine or the process stopped; nothing durable is in it.
struct DroppedTail {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< from there to the file's end
  std::string cause;
};

/// Only with salvage: a durable part of the log that is not whole.
struct Loss {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;                       ///< unreadable ones; 0 if they are missing
  epoch::Epoch first_epoch = 0, last_epoch = 0;  ///< transactions of these epochs may be lost
  std::string cause;
};

struct LogSegment : ScannedSegment {
  epoch::Epoch limit = 0;  ///< transactions up to this epoch count: the generation's cut, or D
  bool running = false;    ///< of a generation without a cut
};

/// Where the log of one logger in the running generation can no longer be read.
struct ReadableEnd {
  std::string path;
  log::Position position;
  std::string cause;
};

struct LogScan {
  std::vector<LogSegment> segments;  ///< that count, by generation, logger, sequence
  /// D of the running generation, and not less than what the checkpoint holds; without one, the last cut.
  epoch::Epoch durable = 0;
  epoch::Epoch greatest_epoch = 0;  ///< that was ever used, as far as manifest and log tell
  epoch::Epoch released = 0;        ///< up to there the cluster had released results, as far as the log tells
  std::vector<ReadableEnd> ends;    ///< by logger; of the running generation, if there is one
  std::vector<DroppedTail> tails;
  std::vector<Loss> losses;
  /// Segments of an opening that did not come to its end. They hold nothing but copies, and are removed before the next
  /// opening.
  std::vector<std::string> abandoned;
  std::vector<std::string> superseded;  ///< segments that the checkpoint has made needless; may be removed
  std::uint64_t kept = 0;               ///< how many of `segments` add_kept_log() has added
  std::uint64_t bytes = 0, transactions = 0;
};

/// kDamaged, naming file, offset, cause and epochs, if anything that was durable is not there; kUnavailable if a log
/// that is being written has not come up to ScanOptions::up_to; other codes if a directory or file cannot be read.
Result<LogScan> scan_logs(base::FileSystem& files, const Manifest& manifest, const ScanOptions& options);

/// Adds to the scan of a cluster's node the segments that other nodes may need although this node's own checkpoint has
/// made them needless for itself. A checkpoint holds the records of its own node, and the node's log also has writes of
/// other nodes' records. So the manifest names a generation until every node has a checkpoint behind it. The segments
/// of these generations are looked at as a node without a checkpoint reads them. Errors are those of scan_logs().
Status add_kept_log(base::FileSystem& files, const Manifest& manifest, ScanOptions options, LogScan& scan);

}  // namespace granary::recovery
