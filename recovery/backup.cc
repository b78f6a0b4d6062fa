#include "recovery/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "recovery/manifest_text.h"
#include "src/base/crc32c.h"
#include "src/base/directory.h"

namespace granary::recovery {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

Status unlike(const std::string& path) {
  return {StatusCode::kIoError, fmt::format("'{}' does not read back as it was written", path)};
}

struct CopiedFile {
  std::string from, to;
  std::uint64_t bytes = 0;
};

class Backup {
 public:
  Backup(base::FileSystem& files, const std::string& directory, const Manifest& manifest, const std::string& to,
         const BackupProgress& progress)
      : files_(files),
        directory_(directory),
        manifest_(manifest),
        to_(to),
        progress_(progress) {}

  Result<BackupFigures> run(const LogScan& scan, const std::vector<std::string>& also) {
    if (const Status found = find_files(scan, also); !found.ok()) return found;
    existed_ = files_.list(to_).ok();
    if (const Status usable = check_backup_target(files_, to_); !usable.ok()) return usable;
    const Status made = make_target();
    const Status written = made.ok() ? write() : made;
    if (lock_ != nullptr) static_cast<void>(files_.remove(lock_path()));
    if (!written.ok()) {
      remove_created();
      return written;
    }
    return BackupFigures{all_.size() + 1, bytes_};
  }

 private:
  Status find_files(const LogScan& scan, const std::vector<std::string>& also);
  Status add(const std::string& from, const std::string& name);
  Status make_target();
  Status lock_target();
  Status write();
  Status write_manifest();
  Status copy(const CopiedFile& file);
  Result<std::uint32_t> checksum_of(const std::string& path);
  void remove_created();
  std::string lock_path() const { return fmt::format("{}/{}", to_, kLockName); }
  std::string checkpoint() const { return manifest_.checkpoint ? manifest_.checkpoint->directory : std::string(); }

  base::FileSystem& files_;
  const std::string& directory_;
  const Manifest& manifest_;
  const std::string& to_;
  const BackupProgress& progress_;
  std::vector<CopiedFile> all_;
  std::uint64_t bytes_ = 0, done_ = 0;
  bool existed_ = false;              // whether the target was there before
  std::unique_ptr<base::File> lock_;  // held while the target is written; none if its file system has no locks
  std::vector<std::string> created_;  // the files and directories that this backup has made, in that order
  std::vector<char> piece_ = std::vector<char>(kPiece);
};

Status Backup::add(const std::string& from, const std::string& name) {
  const auto file = files_.open(from);
  if (!file.ok()) return file.status();
  const auto size = (*file)->size();
  if (!size.ok()) return size.status();
  all_.push_back({from, fmt::format("{}/{}", to_, name), *size});
  bytes_ += *size;
  return {};
}

Status Backup::find_files(const LogScan& scan, const std::vector<std::string>& also) {
  for (const LogSegment& segment : scan.segments) {
    const Status added = add(segment.path, segment.path.substr(segment.path.rfind('/') + 1));
    if (!added.ok()) return added;
  }
  if (!checkpoint().empty()) {
    const std::string path = fmt::format("{}/{}", directory_, checkpoint());
    const auto names = files_.list(path);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      const Status added = add(fmt::format("{}/{}", path, name), fmt::format("{}/{}", checkpoint(), name));
      if (!added.ok()) return added;
    }
  }
  for (const std::string& name : also) {
    const Status added = add(fmt::format("{}/{}", directory_, name), name);
    if (!added.ok() && added.code() != StatusCode::kNotFound) return added;
  }
  return {};
}

Status Backup::make_target() {
  if (const Status made = files_.make_directory(to_); !made.ok()) return made;
  if (const Status locked = lock_target(); !locked.ok()) return locked;
  const auto free = base::free_bytes(files_, to_);
  if (!free.ok()) return free.status();
  if (*free < bytes_) {
    return {
        StatusCode::kDiskFull,
        fmt::format("the backup needs {} bytes, and the file system of '{}' has {} bytes free", bytes_, to_, *free)};
  }
  if (checkpoint().empty()) return {};
  const std::string path = fmt::format("{}/{}", to_, checkpoint());
  const Status made = files_.make_directory(path);
  if (made.ok()) created_.push_back(path);
  return made;
}

/// Keeps other processes from writing another backup to the target, or from making a database there. One that did so
/// just before is found by what it has left.
Status Backup::lock_target() {
  const bool was_there = files_.open(lock_path()).ok();
  auto locked = files_.lock(lock_path());
  // Where the file can be neither made nor opened, nobody has it, and the error itself says why.
  if (locked.status().code() == StatusCode::kUnavailable && files_.open(lock_path()).ok()) {
    return {StatusCode::kUnavailable,
            fmt::format("another process may be using '{}' ({}): choose a new directory for the backup", to_,
                        locked.status().message())};
  }
  // Not every file system has locks, and the file is made before that shows. Without a lock, a file that another
  // process has made is still not written over.
  const bool has_locks = locked.status().code() != StatusCode::kIoError;
  if (has_locks && !locked.ok()) return locked.status();
  if (has_locks) lock_ = std::move(*locked);
  if (!has_locks && !was_there) static_cast<void>(files_.remove(lock_path()));
  return check_backup_target(files_, to_);
}

Status Backup::write() {
  for (const CopiedFile& file : all_) {
    if (const Status copied = copy(file); !copied.ok()) return copied;
  }
  if (!checkpoint().empty()) {
    const Status synced = files_.sync_directory(fmt::format("{}/{}", to_, checkpoint()));
    if (!synced.ok()) return synced;
  }
  if (const Status synced = files_.sync_directory(to_); !synced.ok()) return synced;
  return write_manifest();
}

Status Backup::write_manifest() {
  Manifest manifest = manifest_;
  manifest.instance = {};
  manifest.residence.reset();
  manifest.reliable_directory.clear();
  manifest.boot.clear();
  manifest.log_directories = {to_};
  const std::string path = fmt::format("{}/{}", to_, kManifestName);
  created_.push_back(path);
  if (const Status written = recovery::write_manifest(files_, to_, manifest); !written.ok()) return written;
  const auto file = files_.open(path);
  if (!file.ok()) return file.status();
  (*file)->drop_cache();
  const auto found = read_manifest(files_, to_);
  if (!found.ok()) return found.status();
  return manifest_text(*found) == manifest_text(manifest) ? Status() : unlike(path);
}

Status Backup::copy(const CopiedFile& file) {
  auto from = files_.open(file.from);
  if (!from.ok()) return from.status();
  auto to = files_.create(file.to);
  if (!to.ok()) return to.status();
  created_.push_back(file.to);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < file.bytes;) {
    const auto got = (*from)->read_at(at, piece_);
    if (!got.ok()) return got.status();
    if (*got == 0) return {StatusCode::kDamaged, fmt::format("'{}' became shorter while it was copied", file.from)};
    if (const Status written = (*to)->append({piece_.data(), *got}); !written.ok()) return written;
    crc = base::crc32c(crc, piece_.data(), *got);
    at += *got;
    done_ += *got;
    if (!progress_(done_, bytes_)) return {StatusCode::kUnavailable, "the backup was interrupted"};
  }
  if (const Status synced = (*to)->sync(); !synced.ok()) return synced;
  (*to)->drop_cache();
  const auto found = checksum_of(file.to);
  if (!found.ok()) return found.status();
  if (*found == crc) return {};
  return unlike(file.to);
}

Result<std::uint32_t> Backup::checksum_of(const std::string& path) {
  const auto file = files_.open(path);
  if (!file.ok()) return file.status();
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0;;) {
    const auto got = (*file)->read_at(at, piece_);
    if (!got.ok()) return got.status();
    if (*got == 0) return crc;
    crc = base::crc32c(crc, piece_.data(), *got);
    at += *got;
  }
}

/// Removes what this backup has made, and nothing of another process.
void Backup::remove_created() {
  for (auto path = created_.rbegin(); path != created_.rend(); ++path) static_cast<void>(files_.remove(*path));
  if (!existed_) static_cast<void>(files_.remove(to_));
}

}  // namespace

Status check_backup_target(base::FileSystem& files, const std::string& to) {
  const auto names = files.list(to);
  if (!names.ok() && names.status().code() != StatusCode::kNotFound) return names.status();
  const auto is_lock = [](const std::string& name) { return name == kLockName; };
  if (!names.ok() || std::all_of(names->begin(), names->end(), is_lock)) return {};
  const bool cut_short = std::find(names->begin(), names->end(), kManifestName) == names->end() &&
                         check_no_remains(files, to).code() == StatusCode::kDamaged;
  return {StatusCode::kAlreadyExists,
          cut_short
              ? fmt::format("'{}' holds files of a log or checkpoint, but no manifest, as a backup leaves that was "
                            "cut short: remove it, or choose a new directory",
                            to)
              : fmt::format("'{}' is not empty: choose a new directory for the backup", to)};
}

Result<BackupFigures> write_backup(base::FileSystem& files, const std::string& directory, const Manifest& manifest,
                                   const LogScan& scan, const std::vector<std::string>& also, const std::string& to,
                                   const BackupProgress& progress) {
  return Backup(files, directory, manifest, to, progress).run(scan, also);
}

}  // namespace granary::recovery
