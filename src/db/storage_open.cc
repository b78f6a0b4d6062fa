// How a database directory is opened: locked, whose it is, its manifest read or made, and the directories of its log known to that.

#include <fmt/format.h>

#include <algorithm>

#include "cluster_config/membership/life.h"
#include "recovery/owner.h"
#include "src/db/member_file.h"
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

/// The manifest keeps its directories, and they must mean the same to the next opening.
Options with_absolute_paths(Options options) {
  const auto settle = [](std::string& path) { path = path.empty() ? path : base::canonical(path); };
  settle(options.directory);
  settle(options.reliable_directory);
  for (std::string& directory : options.log_directories) settle(directory);
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
  const bool alone = part.control == nullptr && !part.recovers_all;
  if (alone) {
    if (const Status refused = storage->refuse_member(); !refused.ok()) return refused;
  }
  if (const Status read = storage->lock_and_read(); !read.ok()) return read;
  if (alone) {
    // The file that says whose the data are may be gone; the manifest still tells that a node wrote them.
    const Status known = check_member_file(files, storage->options_.directory, storage->manifest_);
    if (!known.ok()) return known;
  }
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

/// One of this instance's own: several databases may share Options::reliable_directory, and a copy has the original's id.
std::string Storage::ring_directory() const {
  const std::string& parent = options_.reliable_directory.empty() ? kSharedMemory : options_.reliable_directory;
  return fmt::format("{}/{}{}", parent, recovery::kRingDirectoryPrefix, recovery::to_text(manifest_.instance));
}

Status Storage::lock_and_read() {
  if (const Status made = files_.make_directory(options_.directory); !made.ok()) return made;
  auto locked = files_.lock(options_.directory + "/" + std::string(recovery::kLockName));
  if (!locked.ok()) return locked.status();
  locks_.push_back(std::move(*locked));
  auto manifest = recovery::read_manifest(files_, options_.directory);
  const bool none = !manifest.ok() && manifest.status().code() == StatusCode::kNotFound;
  if (!manifest.ok() && !none) return manifest.status();
  if (!none) {
    if (const Status settled = settle(std::move(*manifest)); !settled.ok()) return settled;
  }
  for (const std::string& directory : log_directories()) {
    if (const Status made = files_.make_directory(directory); !made.ok()) return made;
  }
  if (const Status fresh = none ? create_new() : check_new_directories(); !fresh.ok()) return fresh;
  std::vector<std::string> directories = manifest_.log_directories;
  add_missing(directories, log_directories());
  for (const std::string& directory : directories) {
    if (recovery::is_inside(options_.directory, directory)) continue;
    auto lock = files_.lock(directory + "/" + std::string(recovery::kLockName));
    if (!lock.ok()) return lock.status();
    locks_.push_back(std::move(*lock));
  }
  return none ? know_log_directories() : Status();
}

/// Where the database is, and whose the directories are that it names.
Status Storage::settle(recovery::Manifest manifest) {
  const std::vector<std::string> named = manifest.log_directories;
  auto settled =
      recovery::settle(files_, std::move(manifest), options_.directory, {.log_directories = options_.log_directories});
  if (!settled.ok()) return settled.status();
  if (!settled->note.empty()) report_.notes.push_back(settled->note);
  settled_ = std::move(*settled);
  manifest_ = settled_.manifest;
  const recovery::Residence& now = settled_.residence;
  unsettled_ = settled_.copy || manifest_.log_directories != named || manifest_.residence->directory != now.directory ||
               manifest_.residence->identity != now.identity;
  manifest_.residence = now;
  if (!settled_.copy) return {};
  manifest_.instance = recovery::new_id();
  manifest_.reliable_directory.clear();
  manifest_.boot.clear();
  return {};
}

Status Storage::check_unowned(const std::vector<std::string>& fresh) const {
  for (const std::string& directory : fresh) {
    const Status unowned = recovery::check_unowned(files_, manifest_, options_.directory, directory);
    if (!unowned.ok()) return unowned;
  }
  return {};
}

/// By a database in this directory, which has no manifest any more.
bool Storage::was_owned(const std::string& log_directory) const {
  const auto owner = recovery::read_owner(files_, log_directory);
  return owner.ok() && *owner && (*owner)->directory == options_.directory;
}

/// A directory without a manifest is a new database, unless there is something that only a database leaves.
Status Storage::create_new() {
  std::vector<std::string> own = log_directories();
  std::erase_if(own, [this](const std::string& directory) { return !was_owned(directory); });
  if (const Status empty = recovery::check_no_remains(files_, options_.directory, own); !empty.ok()) return empty;
  if (const Status unowned = check_unowned(log_directories()); !unowned.ok()) return unowned;
  const Status empty = recovery::check_no_remains(files_, options_.directory, log_directories());
  if (!empty.ok()) return empty;
  const auto identity = base::identity(files_, options_.directory);
  if (!identity.ok()) return identity.status();
  manifest_.database = recovery::new_id();
  manifest_.instance = recovery::new_id();
  manifest_.residence = {options_.directory, *identity};
  return {};
}

/// A directory that the manifest does not know cannot hold a segment of this database, nor be another database's.
Status Storage::check_new_directories() const {
  std::vector<std::string> fresh = log_directories();
  std::erase_if(fresh, [this](const std::string& name) { return is_among(manifest_.log_directories, name); });
  if (const Status unowned = check_unowned(fresh); !unowned.ok()) return unowned;
  const auto found = find(fresh, is_segment);
  if (!found.ok()) return found.status();
  if (found->empty()) return {};
  return {
      StatusCode::kFailedPrecondition,
      fmt::format("the log of '{}' cannot move to where '{}' is, which is of another database, or of another life of "
                  "this one; choose an empty directory",
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

/// Before the first segment is made in them: what this opening leaves there if it is cut short, the next ones find, and nobody
/// else takes for his own.
Status Storage::know_log_directories() {
  recovery::Manifest next = manifest_;
  const bool more = add_missing(next.log_directories, log_directories());
  for (const std::string& directory : next.log_directories) {
    if (recovery::is_inside(options_.directory, directory)) continue;
    const Status owned = recovery::write_owner(files_, {next.database, next.instance, options_.directory, directory});
    if (!owned.ok()) return owned;
  }
  if (!more && !unsettled_) return {};
  if (const Status written = recovery::write_manifest(files_, options_.directory, next); !written.ok()) return written;
  manifest_ = std::move(next);
  unsettled_ = false;
  return {};
}

}  // namespace granary::db
