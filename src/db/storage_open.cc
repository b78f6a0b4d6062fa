// How a database directory is opened: locked, whose it is, its manifest read or made, and the directories of its log known to that.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cluster_config/membership/life.h"
#include "src/db/storage.h"

namespace granary::db {
namespace {

const std::string kSharedMemory = "/dev/shm";

bool is_segment(const std::string& name) { return recovery::parse_segment_name(name).has_value(); }

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Adds those that are not there yet; true if there were any.
bool add_missing(std::vector<std::string>& names, const std::vector<std::string>& more) {
  const std::size_t before = names.size();
  for (const std::string& name : more) {
    if (!is_among(names, name)) names.push_back(name);
  }
  return names.size() != before;
}

/// Where the path points to, whatever the working directory will be; one name for each way to write it.
std::string absolute(const std::string& path) {
  if (path.empty()) return path;
  const std::filesystem::path normal = std::filesystem::absolute(path).lexically_normal();
  return normal.has_filename() ? normal.string() : normal.parent_path().string();  // "/db/" is "/db", "/" itself
}

/// The manifest keeps its directories, and they must mean the same to the next opening.
Options with_absolute_paths(Options options) {
  options.directory = absolute(options.directory);
  options.reliable_directory = absolute(options.reliable_directory);
  for (std::string& directory : options.log_directories) directory = absolute(directory);
  return options;
}

}  // namespace

Storage::Storage(const Options& options, base::FileSystem& files, const ClusterPart& part)
    : options_(with_absolute_paths(options)),
      files_(files),
      part_(part),
      first_epoch_(part.first_epoch),
      has_all_(!part.others_elsewhere) {}

Result<std::unique_ptr<Storage>> Storage::open(const Options& options, base::FileSystem& files,
                                               const ClusterPart& part) {
  std::unique_ptr<Storage> storage(new Storage(options, files, part));
  if (part.control == nullptr && !part.recovers_all) {
    if (const Status refused = storage->refuse_member(); !refused.ok()) return refused;
  }
  if (const Status read = storage->lock_and_read(); !read.ok()) return read;
  if (const Status scanned = storage->scan(); !scanned.ok()) return scanned;
  if (part.control != nullptr && storage->log_state().running) {
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("'{}' is of a node that did not end in order: the whole cluster has to be recovered before "
                    "any of its nodes starts",
                    options.directory));
  }
  return storage;
}

/// How far its log counts is for all nodes to agree on, and part of its records may be in others' logs.
Status Storage::refuse_member() const {
  const auto names = files_.list(options_.directory);
  if (!names.ok() || !is_among(*names, std::string(membership::kLifeName))) return {};
  return {
      StatusCode::kFailedPrecondition,
      fmt::format("'{}' has the data of a node of a cluster, as its {} says: `granary node`, or a program that joins "
                  "the cluster, opens it; alone it would not be whole",
                  options_.directory, membership::kLifeName)};
}

std::vector<std::string> Storage::log_directories() const {
  return options_.log_directories.empty() ? std::vector{options_.directory} : options_.log_directories;
}

/// One of the database's own: several may share Options::reliable_directory.
std::string Storage::ring_directory() const {
  const std::string& parent = options_.reliable_directory.empty() ? kSharedMemory : options_.reliable_directory;
  return parent + "/granary-" + recovery::to_text(manifest_.database);
}

Status Storage::lock_and_read() {
  if (const Status made = files_.make_directory(options_.directory); !made.ok()) return made;
  auto locked = files_.lock(options_.directory + "/" + std::string(recovery::kLockName));
  if (!locked.ok()) return locked.status();
  lock_ = std::move(*locked);
  for (const std::string& directory : log_directories()) {
    if (const Status made = files_.make_directory(directory); !made.ok()) return made;
  }
  auto manifest = recovery::read_manifest(files_, options_.directory);
  if (manifest.ok()) {
    manifest_ = std::move(*manifest);
    return check_new_directories();
  }
  return manifest.status().code() == StatusCode::kNotFound ? create_new() : manifest.status();
}

/// A directory without a manifest is a new database, unless there is something that only a database leaves.
Status Storage::create_new() {
  const auto found = find(log_directories(), [](const std::string& name) {
    return is_segment(name) || name.starts_with(kCheckpointPrefix);
  });
  if (!found.ok()) return found.status();
  if (!found->empty()) {
    return {StatusCode::kDamaged,
            fmt::format("'{}' has no {}, but '{}' is of a database; put the {} back, or choose an empty directory",
                        options_.directory, recovery::kManifestName, *found, recovery::kManifestName)};
  }
  manifest_.database = recovery::new_database_id();
  return know_log_directories();
}

/// A directory that the manifest does not know cannot hold a segment of this database.
Status Storage::check_new_directories() const {
  std::vector<std::string> fresh = log_directories();
  std::erase_if(fresh, [this](const std::string& name) { return is_among(manifest_.log_directories, name); });
  const auto found = find(fresh, is_segment);
  if (!found.ok()) return found.status();
  if (found->empty()) return {};
  return {StatusCode::kFailedPrecondition,
          fmt::format("the log of '{}' cannot move to where '{}' is, which is of another database; choose an empty "
                      "directory",
                      options_.directory, *found)};
}

/// The path of the first name in them that `matches`; "" if there is none.
Result<std::string> Storage::find(const std::vector<std::string>& directories,
                                  bool (*matches)(const std::string& name)) const {
  for (const std::string& directory : directories) {
    const auto names = files_.list(directory);
    if (!names.ok()) return names.status();
    const auto found = std::find_if(names->begin(), names->end(), matches);
    if (found != names->end()) return directory + "/" + *found;
  }
  return std::string();
}

/// Before the first segment is made in them: what this opening leaves there if it is cut short, the next ones find.
Status Storage::know_log_directories() {
  recovery::Manifest next = manifest_;
  if (!add_missing(next.log_directories, log_directories())) return {};
  if (const Status written = recovery::write_manifest(files_, options_.directory, next); !written.ok()) return written;
  manifest_ = std::move(next);
  return {};
}

}  // namespace granary::db
