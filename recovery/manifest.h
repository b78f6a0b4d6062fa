#pragma once
// Keeps the manifest, which tells what a database directory holds, and which of it counts. It is one small JSON file,
// "MANIFEST", with its own checksum, which is replaced as a whole (written under another name, synced, renamed,
// directory synced).
//
// Each opening of the database begins a generation. A generation that is over has a `cut`: of its segments, exactly the
// transactions with an epoch ≤ cut count, now and at every later recovery. So transactions that were dropped once stay
// dropped, even if their bytes are still there.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>
#include <granary/table.h>

#include "src/base/directory.h"
#include "src/base/file.h"
#include "src/epoch/epoch.h"
#include "src/log/format.h"

namespace granary::recovery {

/// The segments that there must be of one logger in a generation. Checkpoints have made its earlier segments needless.
struct SegmentRange {
  std::uint64_t first = 0;
  /// The place where the last one ends, once nothing more is written to them. It may lie behind what is there, if that
  /// has lost what had been synced. None: only the log itself tells.
  std::optional<log::Position> end = {};
};

struct Generation {
  std::uint64_t number = 0;
  std::uint32_t loggers = 1;
  epoch::Epoch first_epoch = 1;     ///< E when it began
  std::optional<epoch::Epoch> cut;  ///< none while it runs, or if the process died in it
  epoch::Epoch durable = 0;         ///< if cut: each logger's markers reach it; less than the cut where rings told more
  /// If there is a cut, in a cluster: the epoch up to which results had been released, as far as the node knew when it
  /// ended in order.
  epoch::Epoch released = 0;
  /// If there is a cut: whether a recovery of the whole cluster has made it. Then the epochs from the cut to the next
  /// generation are void on all nodes.
  bool agreed = false;
  /// Whether it only ends the previous generation. It was over when it was made, and holds nothing but what the rings
  /// of the previous generation had.
  bool end = false;
  std::uint32_t life = 0;  ///< the life of the cluster's node that began it; 0: no such node
  /// Whether a cluster's node has begun it that notes when it is let in. Then it holds no transaction before
  /// `admitted`, and none at all as long as there is no such epoch. False of nodes of old releases that started with
  /// all others.
  bool begins_empty = false;
  /// If it begins empty: E at the time when the node had been let in, before its first transaction.
  std::optional<epoch::Epoch> admitted = {};
  /// The segments by logger. If it is empty, there may be all of them, from the first one on, as far as the log itself
  /// tells.
  std::vector<SegmentRange> segments = {};
  log::Stamp stamp = 0;           ///< the stamp of its segments and rings
  std::string protocol = "silo";  ///< the Options::protocol of its transactions

  SegmentRange range(std::uint32_t logger) const { return segments.empty() ? SegmentRange() : segments[logger]; }
  /// Returns an epoch before which it has no transaction.
  epoch::Epoch empty_before() const { return admitted ? std::max(first_epoch, *admitted) : first_epoch; }
  /// Whether its node was never let in, so that it has no transaction.
  bool is_empty() const { return begins_empty && !admitted; }
};

/// A table, or an index if `base` is set. Ids are those in the log.
struct TableEntry {
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t max_value_bytes = 0;
  std::optional<std::uint32_t> base;
  IndexOptions index = {};  ///< if there is a base
  /// If the table has a hash index: for how many keys its main header is made. None: it has an ordered index.
  std::optional<std::uint64_t> hash_keys = {};

  bool shared = false;     ///< its records are shared ones
  bool immutable = false;  ///< declared immutable, or an index of such a table
  bool sealed = false;     ///< if immutable: all that it holds is durable, and it never changes again

  IndexKind kind() const { return hash_keys ? IndexKind::kHash : IndexKind::kOrdered; }
};

struct CheckpointEntry {
  epoch::Epoch epoch = 0;  ///< holds exactly the transactions with an epoch < this
  std::string directory;   ///< below the database's
  log::Stamp stamp = 0;    ///< the stamp of all its files
};

/// Says where a database was when its manifest was written. This tells a copy, and a directory that was moved, from the
/// original.
struct Residence {
  std::string directory;  ///< canonical
  base::DirectoryIdentity identity;
};

/// The contents of the manifest. Directories are absolute here. In the file, those inside the database's directory are
/// relative to it, so that they stay right when it is moved or copied.
struct Manifest {
  log::DatabaseId database{};
  /// Tells the copies of the database apart: a copy gets a new instance when it is opened. Rings belong to an instance.
  log::DatabaseId instance{};
  std::optional<Residence> residence;  ///< none: a backup, which resides wherever it is opened
  std::vector<std::string> log_directories;
  std::string reliable_directory;
  std::string boot;  ///< the system's boot when the last generation began; rings of another boot do not count
  std::vector<Generation> generations;
  std::vector<TableEntry> tables;  ///< by id
  std::optional<CheckpointEntry> checkpoint;
};

inline constexpr std::string_view kManifestName = "MANIFEST";
inline constexpr std::string_view kLockName = "LOCK";                 ///< held by a process that opens the directory
inline constexpr std::string_view kCheckpointPrefix = "checkpoint-";  ///< begins their directories' names
inline constexpr std::string_view kRingDirectoryPrefix = "granary-";  ///< of a directory of rings; its instance follows

/// Returns the name of the directory of the checkpoint at an epoch, such as "checkpoint-000000000050".
std::string checkpoint_name(epoch::Epoch epoch);
/// Whether that is the name of a checkpoint's directory. Other names that begin like one are somebody else's.
bool is_checkpoint_name(std::string_view name);

/// Reads the manifest. Returns kNotFound if the directory has none; kDamaged, naming file and cause, if it is not whole
/// or of another version.
Result<Manifest> read_manifest(base::FileSystem& files, const std::string& directory);
/// Returns kFailedPrecondition, and writes nothing, if a table's id is not its position: nobody could read that.
Status write_manifest(base::FileSystem& files, const std::string& directory, const Manifest& manifest);
/// Makes sure that the manifest which is there is on the device: writes it once more, byte by byte. The process that
/// wrote it may have met an error when it synced the directory. What such a sync has lost, a later sync does not bring
/// to the device, although it succeeds. On a full disk there is no room for that, and the directory is only synced.
Status secure_manifest(base::FileSystem& files, const std::string& directory);

/// Returns kDamaged if the directory, which has no manifest, or one of the log directories holds files that only a
/// database leaves.
Status check_no_remains(base::FileSystem& files, const std::string& directory,
                        std::vector<std::string> log_directories = {});

/// Whether the path is the directory or something below it. Both are canonical.
bool is_inside(const std::string& directory, const std::string& path);

/// Returns the greatest epoch that the manifest names.
epoch::Epoch greatest_epoch(const Manifest& manifest);
/// Returns the latest life of a cluster's node that wrote to the database; 0 if no such node did.
std::uint32_t greatest_life(const Manifest& manifest);

/// Returns a new random id, for a database or an instance.
log::DatabaseId new_id();
using log::to_text;  // a look-up by argument does not find it, as an id is an array
/// Returns the system's boot id. Returns kUnavailable if it cannot be read, as with too many files open or without
/// /proc. That must not be taken for another boot, or log rings that are there would be given up.
Result<std::string> boot_id();

}  // namespace granary::recovery
