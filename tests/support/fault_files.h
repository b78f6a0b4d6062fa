#pragma once
// A file system in memory that does what a disk and a kernel may do: it fails, fills up, and forgets what was not
// synced.
//
// Invariants:
//   - A file's bytes are on the device only after File::sync(), a name only after sync_directory() of its directory.
//     Until then a power loss may keep any of it: each 512-byte sector and each change of a name by itself, in any
//     order. A sector that was lost reads as before the write, or as zeros after the old end.
//   - A sync whose fault says `pages_lost` fails once and leaves the pages clean: later syncs succeed, the device never
//     gets those bytes, and reading still shows them. Linux does the same ("fsyncgate"). The names of a directory whose
//     sync fails so are lost in the same way.
//   - Everything that happens is a function of the calls, the planned faults and the seeds.
//
// Not modelled: sectors that are torn inside (but files end at any byte), renames between directories (they count as
// changes of the target's directory), and directories that a power loss takes away or brings back empty (making and
// removing one is durable at once).

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/file.h"

namespace granary::tests {

enum class FileCall : std::uint8_t {
  kAppend,
  kSync,
  kRead,
  kCreate,
  kOpen,
  kList,
  kRename,
  kRemove,
  kSyncDirectory,
  kDropCache,
  kCount,
};

/// One planned failure.
struct Fault {
  FileCall call = FileCall::kAppend;
  std::uint64_t nth = 0;  ///< which of the calls that come after plan() and match `path` fails, from 0
  StatusCode code = StatusCode::kIoError;
  std::string path = {};      ///< only calls whose path contains this match
  std::size_t written = 0;    ///< how many bytes an append writes before the error
  bool pages_lost = false;    ///< whether a sync loses its pages for good, although later syncs succeed
  bool from_then_on = false;  ///< whether all later calls fail, too
};

/// Which bytes and names a power loss leaves: only those that were synced, all, or a random part of the others, too.
enum class Survives : std::uint8_t { kSynced, kAll, kRandom };

/// The file system. It is thread-safe, like every FileSystem.
class FaultFiles final : public base::FileSystem {
 public:
  FaultFiles();

  // --- faults ---
  void plan(Fault fault);
  /// Forgets all planned faults, including those that make all later calls fail.
  void clear_plan();
  /// Limits the bytes of all files together. An append of more writes what fits, and fails with kDiskFull.
  void set_capacity(std::uint64_t bytes);
  /// Returns how many such calls there were, including those that failed.
  std::uint64_t calls(FileCall call) const;
  std::uint64_t faults_hit() const;
  /// The thread that makes a call runs the observer before the call takes effect, outside of all locks. So several
  /// threads may run it at the same time, and it may take images, plan faults and block.
  using Observer = std::function<void(FileCall call, const std::string& path)>;
  void set_observer(Observer observer);
  /// Makes paths that begin with this go to the system's files. Files that must be mapped (rings) need it.
  void pass_through(const std::string& prefix);

  // --- images that a crash leaves: new file systems without faults, in which no file is locked ---
  /// Returns an image after power loss. All of it is durable.
  std::unique_ptr<FaultFiles> power_loss_image(Survives survives, std::uint64_t seed = 0) const;
  /// Returns an image after the death of the process. Every call's effect is there, synced or not. Bytes and names that
  /// were not synced still are not, and a later power loss may take them.
  std::unique_ptr<FaultFiles> process_crash_image() const;

  // --- file surgery; the results are durable ---
  /// Returns the paths of all files, sorted.
  std::vector<std::string> paths() const;
  /// Returns a file's bytes, or "" if there is no such file.
  std::string contents(const std::string& path) const;
  void put(const std::string& path, std::string bytes);
  /// Makes reads of the file's block at `offset`, of base::kDirectBlock bytes, fail with kIoError until it is put anew.
  void make_unreadable(const std::string& path, std::uint64_t offset);
  void edit(const std::string& path, const std::function<void(std::string& bytes)>& change);

  // --- base::FileSystem ---
  Result<std::unique_ptr<base::File>> create(const std::string& path) override;
  Status reserve(const std::string& path, std::uint64_t bytes) override;
  Result<std::unique_ptr<base::File>> open_reserved(const std::string& path, const std::string& name) override;
  Result<std::unique_ptr<base::File>> open_at(const std::string& path, std::uint64_t offset) override;
  Result<std::unique_ptr<base::File>> open(const std::string& path) override;
  Result<std::unique_ptr<base::File>> lock(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Status make_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;

  struct Disk;

 private:
  explicit FaultFiles(std::shared_ptr<Disk> disk);

  std::shared_ptr<Disk> disk_;  // shared with the open files
};

}  // namespace granary::tests
