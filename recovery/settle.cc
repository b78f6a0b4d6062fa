#include "recovery/settle.h"

#include <fmt/format.h>

#include <algorithm>

#include "recovery/owner.h"
#include "recovery/segment_scan.h"
#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

Status refuse(std::string message) { return {StatusCode::kFailedPrecondition, std::move(message)}; }

class Settling {
 public:
  Settling(base::FileSystem& files, Manifest manifest, const std::string& directory, const Wishes& wishes)
      : files_(files),
        directory_(directory),
        wishes_(wishes),
        settled_{.manifest = std::move(manifest), .residence = {}, .note = {}} {}

  Result<Settled> run() {
    auto identity = base::identity(files_, directory_);
    if (!identity.ok()) return identity.status();
    settled_.residence = {directory_, *identity};
    if (const Status arrived = arrive(); !arrived.ok()) return arrived;
    for (std::string& log_directory : settled_.manifest.log_directories) {
      if (is_inside(directory_, log_directory)) continue;
      auto own = find(log_directory);
      if (!own.ok()) return own.status();
      log_directory = std::move(*own);
    }
    if (settled_.copy) {
      if (const Status checked = check_rings(); !checked.ok()) return checked;
    } else {
      return put_back();
    }
    return std::move(settled_);
  }

 private:
  Status arrive();
  bool is_original_there() const;
  Result<std::string> find(const std::string& log_directory) const;
  Result<std::string> find_copy(const std::string& log_directory) const;
  Result<bool> owns(const std::string& log_directory, std::string& owner) const;
  Status check_rings();
  Result<Settled> put_back();
  std::string former() const {
    return settled_.manifest.residence ? settled_.manifest.residence->directory : directory_;
  }

  base::FileSystem& files_;
  const std::string& directory_;
  const Wishes& wishes_;
  Settled settled_;
};

Status Settling::arrive() {
  const auto& former = settled_.manifest.residence;
  if (!former) {
    settled_.copy = true;
    return {};
  }
  const base::DirectoryIdentity &was = former->identity, &is = settled_.residence.identity;
  const bool there = former->directory == directory_ && was.inode == is.inode && was.born_ns == is.born_ns;
  const bool renamed = was == is && is != base::DirectoryIdentity();
  settled_.copy = !there && !renamed;
  if (!settled_.copy || !wishes_.moved) return {};
  if (is_original_there()) {
    return refuse(fmt::format("'{}' was not moved: the database is still in '{}', of which this is a copy", directory_,
                              former->directory));
  }
  settled_.copy = false;
  return {};
}

/// Whether the original is still there. A directory that cannot be looked at counts as there.
bool Settling::is_original_there() const {
  const auto& former = settled_.manifest.residence;
  if (!former || former->directory == directory_) return false;
  const auto manifest = read_manifest(files_, former->directory);
  if (!manifest.ok()) return manifest.status().code() != StatusCode::kNotFound;
  const auto identity = base::identity(files_, former->directory);
  return manifest->database == settled_.manifest.database && manifest->instance == settled_.manifest.instance &&
         identity.ok() && *identity != settled_.residence.identity;
}

/// Whether the directory is this database's. If not, `owner` says whose it is.
Result<bool> Settling::owns(const std::string& log_directory, std::string& owner) const {
  const auto read = read_owner(files_, log_directory);
  if (!read.ok()) return read.status();
  const Manifest& manifest = settled_.manifest;
  if (!*read) {
    owner = former();
    return owner == directory_ || !settled_.copy;
  }
  const Owner& found = **read;
  owner = found.directory;
  if (base::injected("ignore-log-owner")) return true;
  if (found.database != manifest.database) return false;
  return found.directory == directory_ || (!settled_.copy && found.instance == manifest.instance);
}

/// Returns the one of the directories named by the caller to which `log_directory` was copied or moved; "" if there is
/// none.
Result<std::string> Settling::find_copy(const std::string& log_directory) const {
  const auto original = base::identity(files_, log_directory);
  for (const std::string& named : wishes_.log_directories) {
    if (named == log_directory) continue;
    const auto read = read_owner(files_, named);
    if (!read.ok() && read.status().code() == StatusCode::kNotFound) continue;
    if (!read.ok()) return read.status();
    if (!*read || (*read)->database != settled_.manifest.database || (*read)->path != log_directory) continue;
    const auto identity = base::identity(files_, named);
    if (!identity.ok()) return identity.status();
    if (!original.ok() || *original != *identity) return named;
  }
  return std::string();
}

Result<std::string> Settling::find(const std::string& log_directory) const {
  std::string owner;
  const auto owned = owns(log_directory, owner);
  const bool missing = !owned.ok() && owned.status().code() == StatusCode::kNotFound;
  if (!owned.ok() && !missing) return owned.status();
  if (!missing && *owned) return log_directory;
  auto copy = find_copy(log_directory);
  if (!copy.ok() || !copy->empty()) return copy;
  if (missing) {
    return refuse(fmt::format(
        "the log directory '{0}' of the database in '{1}', which '{1}/{2}' names, is not there: mount it, or "
        "say where it is now (Options::log_directories, --log_dirs), with its file {3}",
        log_directory, directory_, kManifestName, kOwnerName));
  }
  if (settled_.copy && owner == former() && !is_original_there()) {
    return refuse(
        fmt::format("the log directory '{0}' belongs to the database in '{1}', which is not there. If '{2}' is that "
                    "database, moved, say so: granary recover {2} --moved. If it is a copy, copy '{0}', too, and name "
                    "the copy with Options::log_directories (--log_dirs)",
                    log_directory, owner, directory_));
  }
  return refuse(
      fmt::format("the log directory '{0}' belongs to the database in '{1}'; '{2}' holds a copy of it, or its manifest "
                  "'{2}/{3}' is of that one or another: copy '{0}', too, and name the copy with "
                  "Options::log_directories (--log_dirs), or put the manifest back",
                  log_directory, owner, directory_, kManifestName));
}

/// Checks that a copy loses nothing. It leaves the original's rings alone. But if there is no original any more,
/// transactions that only the rings have are not given up unless the user says so.
Status Settling::check_rings() {
  if (!settled_.manifest.residence) return {};
  const std::string& rings = settled_.manifest.reliable_directory;
  const auto found = find_rings(settled_.manifest);
  if (!found.ok() && !settled_.manifest.boot.empty()) {
    if (const auto boot = boot_id(); !boot.ok()) return boot.status();  // then the error says nothing of the rings
  }
  const bool pending = !found.ok() || std::any_of(found->rings.begin(), found->rings.end(),
                                                  [](const auto& ring) { return !ring->pending().empty(); });
  if (pending && !is_original_there()) {
    return refuse(
        fmt::format("the database that was in '{0}' left log rings in '{1}' with transactions that are in no log file, "
                    "and '{2}' is not the directory that they belong to. If it is that database, moved or put in its "
                    "place, say so: granary recover {2} --moved. If it is a copy that is to do without them, remove "
                    "them: granary rings --remove={1}",
                    former(), rings, directory_));
  }
  settled_.note = former() == directory_
                      ? fmt::format(
                            "'{}' was put in the place of the database that was there: recovered to the durable "
                            "epoch, without rings",
                            directory_)
                      : fmt::format(
                            "'{}' is a copy of the database that is or was in '{}': recovered to the durable "
                            "epoch, without rings",
                            directory_, former());
  return {};
}

/// Checks whether an older state of the directory was copied over a newer one. Then the rings of the newer life do not
/// belong to it.
Result<Settled> Settling::put_back() {
  const Manifest& manifest = settled_.manifest;
  const auto later = greatest_ring_generation(manifest);
  if (!later.ok()) return later.status();
  if (!manifest.generations.empty() && *later > manifest.generations.back().number) {
    settled_.copy = true;
    settled_.note = fmt::format(
        "'{}' was put back to an earlier state: the log rings in '{}' are of generation {}, and the manifest ends "
        "with generation {}. They are left where they are; 'granary rings' lists them",
        directory_, manifest.reliable_directory, *later, manifest.generations.back().number);
  }
  return std::move(settled_);
}

}  // namespace

Status Settled::check_ring_owner() const {
  if (manifest.reliable_directory.empty()) return {};
  const auto owner = read_owner(base::system_files(), manifest.reliable_directory);
  if (!owner.ok() && owner.status().code() != StatusCode::kNotFound) return owner.status();
  if (owner.ok() && *owner && !base::injected("ignore-log-owner") &&
      ((*owner)->database != manifest.database || (*owner)->instance != manifest.instance)) {
    return {StatusCode::kDamaged,
            fmt::format("the log rings in '{}' belong to the database in '{}', not to the one in '{}'",
                        manifest.reliable_directory, (*owner)->directory, residence.directory)};
  }
  return {};
}

Result<SurvivingRings> Settled::rings() const {
  if ((copy && !base::injected("adopt-copied-rings")) || manifest.reliable_directory.empty()) return SurvivingRings();
  const Status owned = check_ring_owner();
  return owned.ok() ? find_rings(manifest) : owned;
}

Result<Settled> settle(base::FileSystem& files, Manifest manifest, const std::string& directory, const Wishes& wishes) {
  return Settling(files, std::move(manifest), directory, wishes).run();
}

Status take_residence(base::FileSystem& files, const std::string& directory, Wishes wishes) {
  auto manifest = read_manifest(files, directory);
  if (!manifest.ok()) return manifest.status();
  wishes.moved = true;
  auto settled = settle(files, std::move(*manifest), directory, wishes);
  if (!settled.ok()) return settled.status();
  Manifest& taken = settled->manifest;
  for (const std::string& log_directory : taken.log_directories) {
    if (is_inside(directory, log_directory)) continue;
    const Status owned = write_owner(files, {taken.database, taken.instance, directory, log_directory});
    if (!owned.ok()) return owned;
  }
  const std::string& rings = taken.reliable_directory;
  if (!rings.empty() && base::system_files().list(rings).ok()) {
    const Status owned = write_owner(base::system_files(), {taken.database, taken.instance, directory, rings});
    if (!owned.ok()) return owned;
  }
  taken.residence = settled->residence;
  return write_manifest(files, directory, taken);
}

Status check_unowned(base::FileSystem& files, const Manifest& manifest, const std::string& directory,
                     const std::string& log_directory) {
  const auto owner = read_owner(files, log_directory);
  if (!owner.ok()) return owner.status();
  if (!*owner || ((*owner)->database == manifest.database && (*owner)->directory == directory)) return {};
  if (base::injected("ignore-log-owner")) return {};
  const auto names = files.list(log_directory);
  if (!names.ok()) return names.status();
  const bool used = std::any_of(names->begin(), names->end(),
                                [](const std::string& name) { return parse_segment_name(name).has_value(); });
  if (!used && read_manifest(files, (*owner)->directory).status().code() == StatusCode::kNotFound) return {};
  return refuse(
      fmt::format("the log directory '{}' belongs to the database in '{}', not to the one in '{}': choose an "
                  "empty directory",
                  log_directory, (*owner)->directory, directory));
}

}  // namespace granary::recovery
