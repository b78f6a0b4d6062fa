#pragma once
// The manifest: what a database directory holds, and which of it counts. One small JSON file, "MANIFEST", replaced as a
// whole (written aside, synced, renamed, directory synced), with its own checksum.
//
// Generations: each opening of the database begins one. A generation that is over has a `cut`: of its segments exactly
// the transactions with an epoch ≤ cut count, now and at every later recovery. So what was dropped once stays dropped,
// although its bytes may still be there.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <granary/status.h>
#include <granary/table.h>

#include "src/base/directory.h"
#include "src/base/file.h"
#include "src/epoch/epoch.h"
#include "src/log/format.h"

namespace granary::recovery {

/// Which segments there must be of one logger in a generation. What it has before them, checkpoints have made needless.
struct SegmentRange {
  std::uint64_t first = 0;
  /// Where the last one ends, once nothing more is written to them. None: only the log itself tells.
  std::optional<log::Position> end = {};
};

struct Generation {
  std::uint64_t number = 0;
  std::uint32_t loggers = 1;
  epoch::Epoch first_epoch = 1;     ///< E when it began
  std::optional<epoch::Epoch> cut;  ///< none while it is the running one (or was when the process died)
  epoch::Epoch durable = 0;         ///< if cut: each logger's markers reach it; less than the cut where rings told more
  /// If cut, in a cluster: up to there results had been released, as far as the node knew when it ended in order.
  epoch::Epoch released = 0;
  /// If cut: it was so by a recovery of the whole cluster. The epochs from there to the next generation are void on all
  /// nodes.
  bool agreed = false;
  /// It was over when it was made: it ends the one before, and holds nothing but what that one's rings had.
  bool end = false;
  std::uint32_t life = 0;  ///< of the cluster's node that began it; 0: of none
  /// Begun by a node that comes back while others serve: it holds no transaction before `admitted`, and none at all
  /// while there is no such epoch.
  bool returning = false;
  /// If returning: E when the node was let in, before its first transaction.
  std::optional<epoch::Epoch> admitted = {};
  /// By logger. Empty: all of them, from the first on, as far as the log itself tells.
  std::vector<SegmentRange> segments = {};
  log::Stamp stamp = 0;           ///< which its segments and rings have
  std::string protocol = "silo";  ///< Options::protocol of its transactions

  SegmentRange range(std::uint32_t logger) const { return segments.empty() ? SegmentRange() : segments[logger]; }
  /// It has no transaction of an epoch before this one.
  epoch::Epoch empty_before() const { return admitted ? std::max(first_epoch, *admitted) : first_epoch; }
  /// Its node was never let in, so it has no transaction.
  bool is_empty() const { return returning && !admitted; }
};

/// A table, or an index if `base` is set. Ids are those in the log.
struct TableEntry {
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t max_value_bytes = 0;
  std::optional<std::uint32_t> base;
  IndexOptions index = {};  ///< if base
  /// Has a hash index, whose main header is made for so many keys; none: an ordered one.
  std::optional<std::uint64_t> hash_keys = {};

  bool shared = false;     ///< its records are shared ones
  bool immutable = false;  ///< declared so, or an index of such a table
  bool sealed = false;     ///< of an immutable table: all that it holds is durable, and it never changes again

  IndexKind kind() const { return hash_keys ? IndexKind::kHash : IndexKind::kOrdered; }
};

struct CheckpointEntry {
  epoch::Epoch epoch = 0;  ///< holds exactly the transactions with an epoch < this
  std::string directory;   ///< below the database's
  log::Stamp stamp = 0;    ///< which all of its files have
};

/// Where a database was when its manifest was written: what tells a copy, and a directory that was moved, from the
/// original.
struct Residence {
  std::string directory;  ///< canonical
  base::DirectoryIdentity identity;
};

/// Directories are absolute here. In the file, those inside the database's directory are relative to it, so that they
/// move and are copied with it.
struct Manifest {
  log::DatabaseId database{};
  /// Which of the copies of the database this is: a new one when a copy is opened. Rings belong to an instance.
  log::DatabaseId instance{};
  std::optional<Residence> residence;  ///< none: a backup, which resides wherever it is opened
  std::vector<std::string> log_directories;
  std::string reliable_directory;
  std::string boot;  ///< of the system when the last generation began: rings of another boot are none
  std::vector<Generation> generations;
  std::vector<TableEntry> tables;  ///< by id
  std::optional<CheckpointEntry> checkpoint;
};

inline constexpr std::string_view kManifestName = "MANIFEST";
inline constexpr std::string_view kLockName = "LOCK";                 ///< held by who has the directory open
inline constexpr std::string_view kCheckpointPrefix = "checkpoint-";  ///< of the directories of checkpoints
inline constexpr std::string_view kRingDirectoryPrefix = "granary-";  ///< of a directory of rings; its instance follows

/// kNotFound if the directory has none; kDamaged, naming file and cause, if it is not whole or of another version.
Result<Manifest> read_manifest(base::FileSystem& files, const std::string& directory);
Status write_manifest(base::FileSystem& files, const std::string& directory, const Manifest& manifest);

/// kDamaged if the directory, which has no manifest, or one of the log directories holds what only a database leaves.
Status check_no_remains(base::FileSystem& files, const std::string& directory,
                        std::vector<std::string> log_directories = {});

/// True if the path is the directory or something below it. Both are canonical.
bool is_inside(const std::string& directory, const std::string& path);

/// The greatest epoch that it names.
epoch::Epoch greatest_epoch(const Manifest& manifest);
/// The latest life of a cluster's node that wrote to the database; 0 if none did.
std::uint32_t greatest_life(const Manifest& manifest);

/// A new random id, of a database or of an instance.
log::DatabaseId new_id();
using log::to_text;  // an id is an array, in whose namespace nobody looks for it
/// The system's boot id; kUnavailable if it cannot be read, as with too many files open or without /proc. Whoever took
/// that for another boot would give up log rings that are there.
Result<std::string> boot_id();

}  // namespace granary::recovery
