#include "src/db/directories.h"

#include <fmt/format.h>

#include <algorithm>

#include "recovery/owner.h"
#include "recovery/user.h"
#include "src/base/check.h"
#include "src/base/directory.h"
#include "src/base/private_directory.h"

namespace granary::db {
namespace {

constexpr std::string_view kRingPrefix = "ring-";

const std::string kSharedMemory = "/dev/shm";

bool is_segment(const std::string& name) { return recovery::parse_segment_name(name).has_value(); }

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Adds the names that are not there yet; returns whether there were any.
bool add_missing(std::vector<std::string>& names, const std::vector<std::string>& more) {
  const std::size_t before = names.size();
  for (const std::string& name : more) {
    if (!is_among(names, name)) names.push_back(name);
  }
  return names.size() != before;
}

/// Returns the path of the first file in the directories whose name `matches`; "" if there is none.
Result<std::string> find_file(base::FileSystem& files, const std::vector<std::string>& directories,
                              bool (*matches)(const std::string& name)) {
  for (const std::string& directory : directories) {
    const auto names = files.list(directory);
    if (!names.ok()) return names.status();
    const auto found = std::find_if(names->begin(), names->end(), matches);
    if (found != names->end()) return directory + "/" + *found;
  }
  return std::string();
}

/// Refuses to put the log of a database into the directory of another one. Such a directory has no file OWNER, but it
/// has a manifest.
Status check_no_database(base::FileSystem& files, const Options& options,
                         const std::vector<std::string>& log_directories) {
  for (const std::string& directory : log_directories) {
    if (directory == options.directory) continue;
    const Status manifest = recovery::read_manifest(files, directory).status();
    if (!manifest.ok() && manifest.code() != StatusCode::kDamaged) continue;
    return {StatusCode::kFailedPrecondition,
            fmt::format("Options::log_directories names '{0}', which is the directory of another database, as its file "
                        "'{0}/{1}' shows: choose an empty directory for the log of '{2}'",
                        directory, recovery::kManifestName, options.directory)};
  }
  return {};
}

}  // namespace

std::vector<std::string> Directories::of_log() const {
  return options_.log_directories.empty() ? std::vector{options_.directory} : options_.log_directories;
}

std::string Directories::of_rings() const {
  const std::string& parent = options_.reliable_directory.empty() ? kSharedMemory : options_.reliable_directory;
  return fmt::format("{}/{}{}", parent, recovery::kRingDirectoryPrefix, recovery::to_text(manifest_.now().instance));
}

Status Directories::open() {
  if (const Status made = files_.make_directory(options_.directory); !made.ok()) return made;
  if (const Status own = recovery::check_user(files_, options_.directory); !own.ok()) return own;
  if (const Status locked = lock(options_.directory); !locked.ok()) return locked;
  auto manifest = recovery::read_manifest(files_, options_.directory);
  const bool none = !manifest.ok() && manifest.status().code() == StatusCode::kNotFound;
  if (!manifest.ok() && !none) return manifest.status();
  if (!none) {
    if (const Status settled = settle(std::move(*manifest)); !settled.ok()) return settled;
  }
  for (const std::string& directory : of_log()) {
    if (const Status made = files_.make_directory(directory); !made.ok()) return made;
  }
  if (const Status fresh = none ? create_new() : check_new(); !fresh.ok()) return fresh;
  std::vector<std::string> directories = manifest_.now().log_directories;
  add_missing(directories, of_log());
  for (const std::string& directory : directories) {
    if (recovery::is_inside(options_.directory, directory)) continue;
    if (const Status locked = lock(directory); !locked.ok()) return locked;
  }
  return none ? claim_log() : Status();
}

Status Directories::lock(const std::string& directory) {
  auto locked = files_.lock(directory + "/" + std::string(recovery::kLockName));
  if (!locked.ok()) return locked.status();
  locks_.push_back(std::move(*locked));
  return {};
}

/// Settles where the database is, and whose the directories are that its manifest names.
Status Directories::settle(recovery::Manifest manifest) {
  const std::vector<std::string> named = manifest.log_directories;
  auto settled =
      recovery::settle(files_, std::move(manifest), options_.directory, {.log_directories = options_.log_directories});
  if (!settled.ok()) return settled.status();
  settled_ = std::move(*settled);
  recovery::Manifest adopted = settled_.manifest;
  const recovery::Residence& now = settled_.residence;
  unsettled_ = settled_.copy || adopted.log_directories != named || adopted.residence->directory != now.directory ||
               adopted.residence->identity != now.identity;
  adopted.residence = now;
  if (settled_.copy) {
    adopted.instance = recovery::new_id();
    adopted.reliable_directory.clear();
    adopted.boot.clear();
  }
  manifest_.adopt(std::move(adopted));
  return {};
}

Status Directories::check_unowned(const std::vector<std::string>& fresh) const {
  for (const std::string& directory : fresh) {
    const Status unowned = recovery::check_unowned(files_, manifest_.now(), options_.directory, directory);
    if (!unowned.ok()) return unowned;
  }
  return {};
}

/// Whether the log directory belonged to a database in this directory, which has no manifest any more.
bool Directories::was_owned(const std::string& log_directory) const {
  const auto owner = recovery::read_owner(files_, log_directory);
  return owner.ok() && *owner && (*owner)->directory == options_.directory;
}

/// Makes a new database in a directory without a manifest, unless something is there that only a database leaves.
Status Directories::create_new() {
  std::vector<std::string> own = of_log();
  std::erase_if(own, [this](const std::string& directory) { return !was_owned(directory); });
  if (const Status empty = recovery::check_no_remains(files_, options_.directory, own); !empty.ok()) return empty;
  if (const Status unowned = check_unowned(of_log()); !unowned.ok()) return unowned;
  if (const Status free = check_no_database(files_, options_, of_log()); !free.ok()) return free;
  const Status empty = recovery::check_no_remains(files_, options_.directory, of_log());
  if (!empty.ok()) return empty;
  const auto identity = base::identity(files_, options_.directory);
  if (!identity.ok()) return identity.status();
  recovery::Manifest created;
  created.database = recovery::new_id();
  created.instance = recovery::new_id();
  created.residence = {options_.directory, *identity};
  manifest_.adopt(std::move(created));
  return {};
}

/// Refuses log directories that the manifest does not know, if they are another database's or hold a segment: it cannot
/// be one of this database.
Status Directories::check_new() const {
  std::vector<std::string> fresh = of_log();
  std::erase_if(fresh, [this](const std::string& name) { return is_among(manifest_.now().log_directories, name); });
  if (const Status unowned = check_unowned(fresh); !unowned.ok()) return unowned;
  if (const Status free = check_no_database(files_, options_, fresh); !free.ok()) return free;
  const auto found = find_file(files_, fresh, is_segment);
  if (!found.ok()) return found.status();
  if (found->empty()) return {};
  return {
      StatusCode::kFailedPrecondition,
      fmt::format("the log of '{}' cannot move to where '{}' is, which is of another database, or of another life of "
                  "this one; choose an empty directory",
                  options_.directory, *found)};
}

/// Whether the log directory that the manifest names has an OWNER or a segment. Without them it may be the place where
/// its device is not mounted now. A checkpoint would forget the directory if there were an OWNER.
Result<bool> Directories::is_mounted(const std::string& log_directory) const {
  const auto names = files_.list(log_directory);
  if (!names.ok()) return names.status();
  return std::ranges::any_of(*names,
                             [](const std::string& name) { return name == recovery::kOwnerName || is_segment(name); });
}

Status Directories::claim_log() {
  base::invariant("I24", !locks_.empty());
  const recovery::Manifest& now = manifest_.now();
  std::vector<std::string> directories = now.log_directories;
  const bool more = add_missing(directories, of_log());
  for (const std::string& directory : directories) {
    if (recovery::is_inside(options_.directory, directory)) continue;
    const auto claimed = is_among(of_log(), directory) ? Result<bool>(true) : is_mounted(directory);
    if (!claimed.ok()) return claimed.status();
    if (!*claimed) continue;
    const Status owned = recovery::write_owner(files_, {now.database, now.instance, options_.directory, directory});
    if (!owned.ok()) return owned;
  }
  if (!more && !unsettled_) return {};
  const Status written = manifest_.change([&](recovery::Manifest& next) { next.log_directories = directories; });
  if (written.ok()) unsettled_ = false;
  return written;
}

/// The directory must be private: another user that made it could have this process replay or remove anything.
Status Directories::lock_former_rings() {
  const std::string& directory = manifest_.now().reliable_directory;
  if (directory.empty()) return {};
  const Status checked = base::check_private_directory(directory);
  if (checked.code() == StatusCode::kNotFound) return {};
  if (!checked.ok()) return checked;
  return lock_rings(directory);
}

Status Directories::lock_rings(const std::string& directory) {
  if (ring_lock_ != nullptr && ring_lock_path_ == directory) return {};
  auto locked = base::system_files().lock(fmt::format("{}/{}", directory, recovery::kLockName));
  if (!locked.ok()) return locked.status();
  ring_lock_ = std::move(*locked);
  ring_lock_path_ = directory;
  return {};
}

Status Directories::claim_rings() {
  const std::string directory = of_rings();
  if (const Status made = base::make_private_directory(directory); !made.ok()) return made;
  if (const Status locked = lock_rings(directory); !locked.ok()) return locked;
  base::invariant("I24", ring_lock_ != nullptr && ring_lock_path_ == directory);
  const recovery::Manifest& now = manifest_.now();
  return recovery::write_owner(base::system_files(), {now.database, now.instance, options_.directory, directory});
}

Status Directories::remove_rings(const std::string& former) {
  const std::string& current = manifest_.now().reliable_directory;
  const std::string& copied = settled_.manifest.reliable_directory;
  const bool is_copied = settled_.copy && recovery::is_inside(options_.directory, copied);
  for (const std::string& directory : {former, current, is_copied ? copied : std::string()}) {
    if (directory.empty()) continue;
    const auto names = base::system_files().list(directory);
    if (!names.ok() && names.status().code() == StatusCode::kNotFound) continue;
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (!name.starts_with(kRingPrefix)) continue;
      if (const Status removed = base::system_files().remove(directory + "/" + name); !removed.ok()) return removed;
    }
    if (directory != current) remove_ring_directory(directory);
  }
  return {};
}

void Directories::remove_ring_directory(const std::string& directory) {
  base::FileSystem& files = base::system_files();
  const auto names = files.list(directory);
  if (!names.ok() || std::any_of(names->begin(), names->end(), recovery::is_ring_name)) return;
  for (const std::string_view name : {recovery::kOwnerName, recovery::kLockName})
    static_cast<void>(files.remove(fmt::format("{}/{}", directory, name)));
  static_cast<void>(files.remove(directory));
}

Status remove_files(base::FileSystem& files, const std::vector<std::string>& directories,
                    FunctionRef<bool(const std::string& name)> needless) {
  Status failure;  // the first one; the rest is removed all the same, as it may be on other devices
  const auto note = [&failure](const Status& status) {
    if (failure.ok() && !status.ok()) failure = status;
  };
  for (const std::string& directory : directories) {
    const auto names = files.list(directory);
    note(names.status());
    if (!names.ok()) continue;
    // The last name goes first, so that the first segment of a generation is there as long as any of them is.
    for (auto name = names->rbegin(); name != names->rend(); ++name) {
      if (needless(*name)) note(files.remove(directory + "/" + *name));
    }
  }
  return failure;
}

}  // namespace granary::db
