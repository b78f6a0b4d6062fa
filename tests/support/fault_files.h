#pragma once
// A file system in memory that does what a disk and a kernel may do: fail, fill up, forget what was not synced.
//
// What it keeps true:
//   - A file's bytes are on the device only after File::sync(), a name only after sync_directory() of its directory.
//     Until then a power loss may keep any of it: each 512-byte sector and each change of a name by itself, in any
//     order. A sector that did not make it reads as before the write, or as zeros behind the old end.
//   - A sync whose fault says `pages_lost` fails once and leaves the pages clean: later syncs succeed, the device never
//     gets those bytes, reading still shows them (what Linux does: "fsyncgate").
//   - Everything that happens is a function of the calls, the planned faults and the seeds.
//
// Not modelled: sectors torn inside (but files end at any byte), renames between directories (they count as changes of
// the target's directory), directories that a power loss takes away or brings back empty: making and removing one is
// durable at once.

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
  kCount,
};

/// One planned failure.
struct Fault {
  FileCall call = FileCall::kAppend;
  std::uint64_t nth = 0;  ///< which of the calls that come after plan() and match `path`, from 0
  StatusCode code = StatusCode::kIoError;
  std::string path = {};      ///< only of paths that contain this
  std::size_t written = 0;    ///< append: so many of the bytes are written before the error
  bool pages_lost = false;    ///< sync: what was not synced will never be, although later syncs succeed
  bool from_then_on = false;  ///< all later calls fail, too
};

/// What a power loss leaves of what was not synced.
enum class Survives : std::uint8_t { kSynced, kAll, kRandom };

/// Thread-safe, as every FileSystem.
class FaultFiles final : public base::FileSystem {
 public:
  FaultFiles();

  // --- faults ---
  void plan(Fault fault);
  /// Calls that are not yet due are forgotten.
  void clear_plan();
  /// Bytes of all files together; appending more fails with kDiskFull after what fits.
  void set_capacity(std::uint64_t bytes);
  /// How many such calls there were, failed ones included.
  std::uint64_t calls(FileCall call) const;
  std::uint64_t faults_hit() const;
  /// Called before each call takes effect, by the thread that makes the call, so by several at once, and outside of all
  /// locks: may take images, plan faults, block.
  using Observer = std::function<void(FileCall call, const std::string& path)>;
  void set_observer(Observer observer);
  /// Paths that begin with this go to the system's files: for what must be mapped (rings).
  void pass_through(const std::string& prefix);

  // --- what is left after a crash: a new file system without faults, all locks open ---
  /// After power loss. All of it is durable then.
  std::unique_ptr<FaultFiles> power_loss_image(Survives survives, std::uint64_t seed = 0) const;
  /// After the death of the process: every call's effect is there, synced or not; what was not synced still is not, and
  /// a later power loss may take it.
  std::unique_ptr<FaultFiles> process_crash_image() const;

  // --- file surgery; the results are durable ---
  /// Of files, sorted.
  std::vector<std::string> paths() const;
  /// "" if there is no such file.
  std::string contents(const std::string& path) const;
  void put(const std::string& path, std::string bytes);
  void edit(const std::string& path, const std::function<void(std::string& bytes)>& change);

  // --- base::FileSystem ---
  Result<std::unique_ptr<base::File>> create(const std::string& path) override;
  Status reserve(const std::string& path, std::uint64_t bytes) override;
  Result<std::unique_ptr<base::File>> open_reserved(const std::string& path) override;
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
