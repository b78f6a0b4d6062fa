#pragma once
// Databases for benchmarks: always empty, and gone afterwards.

#include <memory>
#include <string>

#include <granary/granary.h>

#include "bench/harness/janitor.h"

namespace granary::bench {

/// Opens a database with these options. If it is durable, whatever an earlier load left in its directory, which is a
/// ScratchDirectory's, is removed first.
Result<std::unique_ptr<Database>> open_fresh(const Options& options);

/// A directory of this process's own below `parent`, removed with all it holds at the end. If the process is killed, its Janitor removes it.
class ScratchDirectory {
 public:
  static Result<std::unique_ptr<ScratchDirectory>> make(const std::string& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)), janitor_(path_) {}
  const std::string path_;
  const Janitor janitor_;
};

/// Bytes that may still be written below the path; 0 if that cannot be told.
std::uint64_t free_bytes(const std::string& path);

}  // namespace granary::bench
