#include "recovery/ring_directories.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "recovery/checked_text.h"
#include "recovery/manifest.h"
#include "recovery/surviving_rings.h"
#include "src/base/directory.h"
#include "src/base/private_directory.h"

namespace granary::recovery {
namespace {

bool is_ring_directory_name(std::string_view name) {
  return name.starts_with(kRingDirectoryPrefix) && id_of(name.substr(kRingDirectoryPrefix.size())).has_value();
}

std::string lock_of(const std::string& path) { return fmt::format("{}/{}", path, kLockName); }

void set_use(RingDirectory& found, RingUse use, std::string why) {
  found.use = use;
  found.why = std::move(why);
}

/// Looks for the database that the directory says it belongs to.
void find_use(RingDirectory& found) {
  base::FileSystem& files = base::system_files();
  const auto owner = read_owner(files, found.path);
  if (owner.ok()) found.owner = *owner;
  const Status lock = base::lock_to_read(lock_of(found.path)).status();
  if (lock.code() == StatusCode::kUnavailable)
    return set_use(found, RingUse::kRunning, "a process has the database open");
  if (lock.code() == StatusCode::kFailedPrecondition) return set_use(found, RingUse::kWaiting, lock.message());
  if (!owner.ok()) return set_use(found, RingUse::kWaiting, owner.status().message());
  if (!found.owner) return set_use(found, RingUse::kOrphan, "an opening that did not come to its end left it");
  const auto manifest = read_manifest(files, found.owner->directory);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound)
    return set_use(found, RingUse::kOrphan, "the database is not there any more: removed, moved, or not mounted");
  if (!manifest.ok()) return set_use(found, RingUse::kWaiting, manifest.status().message());
  if (manifest->database != found.owner->database || manifest->instance != found.owner->instance)
    return set_use(found, RingUse::kOrphan, "another database, or another copy of this one, is in its place");
  if (manifest->reliable_directory.empty())
    return set_use(found, RingUse::kOrphan, "an opening that did not come to its end left it");
  // The path of either may lead through a symbolic link, such as /dev/shm on some systems.
  const auto named = base::canonical(manifest->reliable_directory), here = base::canonical(found.path);
  if (!named.ok() || !here.ok())
    return set_use(found, RingUse::kWaiting, (named.ok() ? here : named).status().message());
  if (*named != *here) return set_use(found, RingUse::kOrphan, "the database has its rings elsewhere by now");
  set_use(found, RingUse::kWaiting, "the database takes them when it is opened");
}

RingDirectory look_at(const std::string& path) {
  RingDirectory found;
  found.path = path;
  const auto names = base::system_files().list(path);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    struct stat status {};
    if (::lstat(fmt::format("{}/{}", path, name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    found.rings += is_ring_name(name) ? 1 : 0;
    found.bytes += static_cast<std::uint64_t>(status.st_size);
  }
  find_use(found);
  return found;
}

}  // namespace

Result<std::vector<RingDirectory>> list_ring_directories(const std::string& parent) {
  const auto names = base::system_files().list(parent);
  if (!names.ok()) return names.status();
  std::vector<RingDirectory> found;
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", parent, name);
    if (is_ring_directory_name(name) && base::check_private_directory(path).ok()) found.push_back(look_at(path));
  }
  return found;
}

Status remove_ring_directory(const std::string& path) {
  base::FileSystem& files = base::system_files();
  if (const Status checked = base::check_private_directory(path); !checked.ok()) return checked;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || !is_ring_directory_name(path.substr(slash + 1))) {
    return {StatusCode::kInvalidArgument,
            fmt::format("'{}' is no directory of log rings: their names are '{}' and 32 hexadecimal digits", path,
                        kRingDirectoryPrefix)};
  }
  const auto lock = files.lock(lock_of(path));
  if (!lock.ok()) return lock.status();
  const auto names = files.list(path);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const bool ours = name.starts_with("ring-") || name == kOwnerName || name == kLockName;
    if (!ours) continue;
    if (const Status removed = files.remove(fmt::format("{}/{}", path, name)); !removed.ok()) return removed;
  }
  return files.remove(path);
}

}  // namespace granary::recovery
