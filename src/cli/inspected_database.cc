#include "src/base/print.h"
#include "src/cli/inspected_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "cluster_config/membership/life.h"
#include "src/base/private_directory.h"
#include "src/db/memory_limit.h"

namespace granary::cli {
namespace {

/// Returns the kind of file that is at the path, following links; an error if that may not be looked at.
Result<std::filesystem::file_type> kind_of(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::none) return base::file_error("look at", path, error.value());
  return type;
}

}  // namespace

/// Locks the directory without a change to anything, because the file system may be read-only and what is inspected may
/// be damaged.
Status InspectedDatabase::lock(const std::string& where) {
  const std::string path = fmt::format("{}/{}", where, recovery::kLockName);
  auto locked = base::lock_to_read(path);
  if (locked.ok()) {
    locks.push_back(std::move(*locked));
  } else if (locked.status().code() == StatusCode::kIoError) {
    base::print(stderr, "granary: {}: nobody can tell whether a process has the database open; read all the same\n",
                locked.status().message());
  } else if (locked.status().code() != StatusCode::kNotFound) {
    return locked.status();
  }
  return {};
}

Result<InspectedDatabase> InspectedDatabase::open(const std::string& directory) {
  base::FileSystem& files = base::system_files();
  const auto none = [&](std::string_view why) {
    return Status(StatusCode::kNotFound, fmt::format("'{}' holds no database: {}", directory, why));
  };
  const auto kind = kind_of(directory);
  if (!kind.ok()) return kind.status();
  if (*kind == std::filesystem::file_type::not_found) return none("there is no such directory");
  if (*kind != std::filesystem::file_type::directory) return none("it is no directory");
  InspectedDatabase database;
  auto canonical = base::canonical(directory);
  if (!canonical.ok()) return canonical.status();
  database.directory = std::move(*canonical);
  if (const Status locked = database.lock(database.directory); !locked.ok()) return locked;
  auto manifest = recovery::read_manifest(files, database.directory);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) {
    if (const Status empty = recovery::check_no_remains(files, database.directory); !empty.ok()) return empty;
    return none(fmt::format("there is no file '{}/{}'", directory, recovery::kManifestName));
  }
  if (!manifest.ok()) return manifest.status();
  database.manifest = std::move(*manifest);
  return database;
}

Status InspectedDatabase::settle(const recovery::Wishes& wishes) {
  auto found = recovery::settle(base::system_files(), manifest, directory, wishes);
  if (!found.ok()) return found.status();
  settled = std::move(*found);
  manifest = settled.manifest;
  if (!settled.note.empty()) base::print(stderr, "granary: {}\n", settled.note);
  for (const std::string& each : manifest.log_directories) {
    if (recovery::is_inside(directory, each)) continue;
    if (const Status locked = lock(each); !locked.ok()) return locked;
  }
  return lock_rings();
}

/// Locks the rings as an opening does (db::Directories::lock_former_rings). A directory that is not private is refused
/// where the rings are read.
Status InspectedDatabase::lock_rings() {
  const std::string& rings = manifest.reliable_directory;
  if (settled.copy || manifest.generations.empty() || rings.empty()) return {};
  return base::check_private_directory(rings).ok() ? lock(rings) : Status();
}

Result<InspectedDatabase> open_with_logs(const std::string& directory, const bench::FlagValues& flags) {
  auto database = InspectedDatabase::open(directory);
  if (!database.ok()) return database;
  const recovery::Wishes wishes = wishes_from(flags);
  for (const std::string& each : wishes.log_directories) {
    const auto kind = kind_of(each);
    if (!kind.ok()) return kind.status();
    if (*kind == std::filesystem::file_type::directory) continue;
    return Status(StatusCode::kNotFound, fmt::format("--log_dirs: '{}' is no directory", each));
  }
  const Status settled = database->settle(wishes);
  return settled.ok() ? std::move(database) : Result<InspectedDatabase>(settled);
}

bench::Flag log_dirs_flag() {
  return bench::text_flag(
      "log_dirs", "", "DIR,...",
      "Of a copy: where the copies are of log directories that were outside of the database's; of any "
      "database: where they are now.");
}

recovery::Wishes wishes_from(const bench::FlagValues& flags) {
  recovery::Wishes wishes;
  std::string_view rest = flags.text("log_dirs");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (std::string path(rest.substr(0, end)); !path.empty()) {
      auto canonical =
          base::canonical(path);  // a directory that cannot be found from here is reported by the path as written
      wishes.log_directories.push_back(canonical.ok() ? std::move(*canonical) : std::move(path));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  wishes.moved = flags.declared("moved") && flags.enabled("moved");
  return wishes;
}

std::string InspectedDatabase::table_name(std::uint32_t id) const {
  return id < manifest.tables.size() ? manifest.tables[id].name : fmt::format("table {}", id);
}

bool InspectedDatabase::of_node() const {
  return recovery::greatest_life(manifest) != 0 ||
         base::system_files().open(fmt::format("{}/{}", directory, membership::kLifeName)).ok();
}

recovery::ScanOptions InspectedDatabase::scan_options(bool salvage) const {
  return {.threads = std::max(1u, std::thread::hardware_concurrency()),
          .memory_bytes = db::scan_memory_bytes(),
          .salvage = salvage,
          .progress = progress};
}

Status InspectedDatabase::add_kept_log(bool salvage, recovery::LogScan& scan) const {
  return of_node() ? recovery::add_kept_log(base::system_files(), manifest, scan_options(salvage), scan) : Status();
}

Result<recovery::LogScan> InspectedDatabase::scan(bool salvage) const {
  auto scan = recovery::scan_logs(base::system_files(), manifest, scan_options(salvage));
  if (!scan.ok()) return scan;
  const Status kept = add_kept_log(salvage, *scan);
  return kept.ok() ? std::move(scan) : Result<recovery::LogScan>(kept);
}

Result<recovery::LogSurvey> InspectedDatabase::survey(bool salvage) const {
  auto survey = recovery::survey_log(base::system_files(), manifest, settled, scan_options(salvage));
  if (!survey.ok()) return survey;
  const Status kept = add_kept_log(salvage, survey->scan);
  return kept.ok() ? std::move(survey) : Result<recovery::LogSurvey>(kept);
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
