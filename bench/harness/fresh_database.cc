#include "bench/harness/fresh_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace granary::bench {

Result<std::unique_ptr<Database>> open_fresh(const Options& options) {
  std::error_code ignored;  // what cannot be removed, opening will report
  if (!options.directory.empty()) std::filesystem::remove_all(options.directory, ignored);
  for (const std::string& directory : options.log_directories) std::filesystem::remove_all(directory, ignored);
  if (!options.reliable_directory.empty()) std::filesystem::remove_all(options.reliable_directory, ignored);
  return Database::open(options);
}

Result<std::unique_ptr<ScratchDirectory>> ScratchDirectory::make(const std::string& parent, WhenKilled when_killed) {
  const std::string path = fmt::format("{}/granary-bench-{}", parent, ::getpid());
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (error)
    return Status(StatusCode::kUnavailable, fmt::format("cannot make the directory '{}': {}", path, error.message()));
  return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(path, when_killed));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::uint64_t free_bytes(const std::string& path) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  return error ? 0 : space.available;
}

}  // namespace granary::bench
