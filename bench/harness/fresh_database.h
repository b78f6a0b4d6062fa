#pragma once
// Opens databases for benchmarks, which are empty at first and gone afterwards.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <granary/granary.h>

#include "bench/harness/janitor.h"

namespace granary::bench {

/// Opens a database with these options. If it is durable, it first removes the files that an earlier load has left in
/// its directory, which is a ScratchDirectory's.
Result<std::unique_ptr<Database>> open_fresh(const Options& options);

/// Returns the status with flags in the place of options, since the user of a benchmark has given flags.
Status in_flags(const Status& status);
/// Returns the status of a node of a cluster, with flags, or keys of the cluster's file, in the place of options.
Status in_flags_of_node(const Status& status);

/// Says whether a ScratchDirectory is removed if its process is killed.
enum class WhenKilled : std::uint8_t {
  kRemoved,  ///< A Janitor removes it, as nobody has a use for the data of a benchmark that was cut short.
  kKept,     ///< It holds what somebody may want to look at, such as the histories of a run.
};

/// A directory of this process's own below `parent`. It is removed with its contents when this is destroyed.
class ScratchDirectory {
 public:
  static Result<std::unique_ptr<ScratchDirectory>> make(const std::string& parent,
                                                        WhenKilled when_killed = WhenKilled::kRemoved);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  ScratchDirectory(std::string path, WhenKilled when_killed) : path_(std::move(path)) {
    if (when_killed == WhenKilled::kRemoved) janitor_.emplace(path_);
  }
  const std::string path_;
  std::optional<Janitor> janitor_;
};

/// Returns how many bytes may still be written below the path; 0 if that cannot be told.
std::uint64_t free_bytes(const std::string& path);

}  // namespace granary::bench
