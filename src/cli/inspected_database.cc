#include "src/cli/inspected_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace granary::cli {

Result<InspectedDatabase> InspectedDatabase::open(const std::string& directory) {
  base::FileSystem& files = base::system_files();
  InspectedDatabase database;
  database.directory = directory;
  const std::string lock = fmt::format("{}/{}", directory, recovery::kLockName);
  if (files.open(lock).ok()) {  // locking would make the file
    auto locked = files.lock(lock);
    if (!locked.ok()) return locked.status();
    database.lock = std::move(*locked);
  }
  auto manifest = recovery::read_manifest(files, directory);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound)
    return Status(StatusCode::kNotFound, fmt::format("'{}' holds no database: there is no file '{}/{}'", directory,
                                                     directory, recovery::kManifestName));
  if (!manifest.ok()) return manifest.status();
  database.manifest = std::move(*manifest);
  return database;
}

std::string InspectedDatabase::table_name(std::uint32_t id) const {
  return id < manifest.tables.size() ? manifest.tables[id].name : fmt::format("table {}", id);
}

Result<recovery::LogScan> InspectedDatabase::scan(bool salvage) const {
  if (manifest.generations.empty()) return recovery::LogScan{};
  return recovery::scan_logs(base::system_files(), manifest,
                             {.threads = std::max(1u, std::thread::hardware_concurrency()), .salvage = salvage});
}

Result<std::vector<SegmentFile>> segment_files(const recovery::Manifest& manifest) {
  std::vector<SegmentFile> found;
  for (const std::string& directory : manifest.log_directories) {
    const auto names = base::system_files().list(directory);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (const auto parsed = recovery::parse_segment_name(name)) found.push_back({*parsed, directory + "/" + name});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

}  // namespace granary::cli
