// Implements the calls of FaultFiles. fault_disk.cc has what they leave after a crash.

#include "tests/support/fault_files.h"

#include <algorithm>
#include <cstring>

#include "tests/support/fault_disk.h"

namespace granary::tests {
namespace {

Status failure(StatusCode code, const char* operation, const std::string& path) {
  const char* reason = "Input/output error";
  if (code == StatusCode::kDiskFull) reason = "No space left on device";
  if (code == StatusCode::kNotFound) reason = "No such file or directory";
  if (code == StatusCode::kAlreadyExists) reason = "File exists";
  return {code, std::string("cannot ") + operation + " '" + path + "': " + reason};
}

using Disk = FaultFiles::Disk;

/// Removes an empty directory. The caller has locked the disk.
Status remove_directory(Disk& disk, const std::string& path) {
  if (!disk.directories.contains(path)) return failure(StatusCode::kNotFound, "remove", path);
  const std::string below = path + "/";
  const auto file = disk.names.lower_bound(below);
  const auto directory = disk.directories.lower_bound(below);
  if ((file != disk.names.end() && file->first.starts_with(below)) ||
      (directory != disk.directories.end() && directory->starts_with(below)))
    return {StatusCode::kIoError, "cannot remove '" + path + "': Directory not empty"};
  disk.directories.erase(path);
  return {};
}

class FaultFile final : public base::File {
 public:
  enum class Use : std::uint8_t { kAppend, kRead, kLock };

  FaultFile(std::shared_ptr<Disk> disk, std::shared_ptr<Inode> inode, std::string path, Use use, std::size_t at)
      : disk_(std::move(disk)),
        inode_(std::move(inode)),
        path_(std::move(path)),
        use_(use),
        at_(at) {}
  ~FaultFile() override {
    if (use_ != Use::kLock) return;
    const std::lock_guard lock(disk_->mutex);
    inode_->locked = false;
  }
  FaultFile(const FaultFile&) = delete;
  FaultFile& operator=(const FaultFile&) = delete;

  Status append(std::span<const char> bytes) override {
    std::unique_lock<std::mutex> lock;
    const auto fault = disk_->begin(FileCall::kAppend, path_, lock);
    if (use_ == Use::kRead) return failure(StatusCode::kIoError, "write, as it was opened to read, to", path_);
    const std::uint64_t there = inode_->cache.size() - at_;  // the bytes that were reserved
    const std::uint64_t room = there + disk_->capacity - std::min(disk_->capacity, disk_->used);
    std::size_t written = static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()));
    if (fault) written = std::min(written, fault->written);
    inode_->write(at_, {bytes.data(), written});
    at_ += written;
    disk_->used += written - std::min<std::uint64_t>(written, there);
    if (fault) return failure(fault->code, "write to", path_);
    return written == bytes.size() ? Status() : failure(StatusCode::kDiskFull, "write to", path_);
  }

  Status sync() override {
    std::unique_lock<std::mutex> lock;
    const auto fault = disk_->begin(FileCall::kSync, path_, lock);
    if (fault) {
      if (fault->pages_lost) inode_->lose_dirty_pages();
      return failure(fault->code, "sync", path_);
    }
    inode_->sync();
    return {};
  }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override {
    std::unique_lock<std::mutex> lock;
    if (const auto fault = disk_->begin(FileCall::kRead, path_, lock)) return failure(fault->code, "read", path_);
    if (offset >= inode_->cache.size()) return std::size_t{0};
    const std::size_t got = std::min<std::size_t>(bytes.size(), inode_->cache.size() - offset);
    if (!inode_->readable(offset, offset + got)) return failure(StatusCode::kIoError, "read", path_);
    std::copy_n(inode_->cache.data() + offset, got, bytes.data());
    return got;
  }

  Result<std::uint64_t> size() override {
    const std::lock_guard lock(disk_->mutex);
    return std::uint64_t{inode_->cache.size()};
  }

  /// Only counts and shows the call, which has no effect here and cannot fail.
  void drop_cache() override {
    std::unique_lock<std::mutex> lock;
    disk_->begin(FileCall::kDropCache, path_, lock);
  }

 private:
  const std::shared_ptr<Disk> disk_;
  const std::shared_ptr<Inode> inode_;
  const std::string path_;
  const Use use_;
  std::size_t at_;  // where the next append() writes
};

std::unique_ptr<base::File> file(std::shared_ptr<Disk> disk, std::shared_ptr<Inode> inode, const std::string& path,
                                 FaultFile::Use use, std::size_t at = 0) {
  return std::make_unique<FaultFile>(std::move(disk), std::move(inode), path, use, at);
}

/// `name` is the file's name from now on, if it gets another one.
Result<std::unique_ptr<base::File>> open_file(const std::shared_ptr<Disk>& disk, const std::string& path,
                                              FaultFile::Use use, std::size_t at = 0, const std::string& name = "") {
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk->begin(FileCall::kOpen, path, lock)) return failure(fault->code, "open", path);
  const auto found = disk->names.find(path);
  if (found == disk->names.end()) return failure(StatusCode::kNotFound, "open", path);
  return file(disk, found->second, name.empty() ? path : name, use, at);
}

}  // namespace

FaultFiles::FaultFiles() : disk_(std::make_shared<Disk>()) {}
FaultFiles::FaultFiles(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}

void FaultFiles::plan(Fault fault) {
  const std::lock_guard lock(disk_->mutex);
  disk_->faults.push_back({std::move(fault)});
}

void FaultFiles::clear_plan() {
  const std::lock_guard lock(disk_->mutex);
  disk_->faults.clear();
}

void FaultFiles::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(disk_->mutex);
  disk_->capacity = bytes;
}

std::uint64_t FaultFiles::calls(FileCall call) const {
  const std::lock_guard lock(disk_->mutex);
  return disk_->calls[static_cast<std::size_t>(call)];
}

std::uint64_t FaultFiles::faults_hit() const {
  const std::lock_guard lock(disk_->mutex);
  return disk_->faults_hit;
}

void FaultFiles::set_observer(Observer observer) {
  const std::lock_guard lock(disk_->mutex);
  disk_->observer = std::move(observer);
}

void FaultFiles::pass_through(const std::string& prefix) {
  const std::lock_guard lock(disk_->mutex);
  disk_->passed_through.push_back(prefix);
}

std::vector<std::string> FaultFiles::paths() const {
  const std::lock_guard lock(disk_->mutex);
  std::vector<std::string> paths;
  for (const auto& [path, inode] : disk_->names) paths.push_back(path);
  return paths;
}

std::string FaultFiles::contents(const std::string& path) const {
  const std::lock_guard lock(disk_->mutex);
  const auto at = disk_->names.find(path);
  return at == disk_->names.end() ? std::string() : at->second->cache;
}

void FaultFiles::put(const std::string& path, std::string bytes) {
  const std::lock_guard lock(disk_->mutex);
  auto inode = std::make_shared<Inode>();
  inode->become(std::move(bytes));
  disk_->directories.insert(parent_of(path));
  std::erase_if(disk_->changes,
                [&](const NameChange& change) { return change.added == path || change.removed == path; });
  disk_->names[path] = inode;
  disk_->durable_names[path] = inode;
}

void FaultFiles::make_unreadable(const std::string& path, std::uint64_t offset) {
  const std::lock_guard lock(disk_->mutex);
  disk_->names.at(path)->unreadable.insert(offset);
}

void FaultFiles::edit(const std::string& path, const std::function<void(std::string& bytes)>& change) {
  std::string bytes = contents(path);
  change(bytes);
  put(path, std::move(bytes));
}

Result<std::unique_ptr<base::File>> FaultFiles::create(const std::string& path) {
  if (disk_->passes_through(path)) return base::system_files().create(path);
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk_->begin(FileCall::kCreate, path, lock)) return failure(fault->code, "create", path);
  if (!disk_->directories.contains(parent_of(path))) return failure(StatusCode::kNotFound, "create", path);
  if (disk_->names.contains(path)) return failure(StatusCode::kAlreadyExists, "create", path);
  auto inode = std::make_shared<Inode>();
  disk_->change_names({parent_of(path), "", path, inode});
  return file(disk_, inode, path, FaultFile::Use::kAppend);
}

Status FaultFiles::reserve(const std::string& path, std::uint64_t bytes) {
  if (disk_->passes_through(path)) return base::system_files().reserve(path, bytes);
  const auto made = create(path);
  if (!made.ok()) return made.status();
  const Status written = (*made)->append(std::string(bytes, '\0'));
  if (!written.ok()) static_cast<void>(remove(path));
  return written;
}

Result<std::unique_ptr<base::File>> FaultFiles::open_reserved(const std::string& path, const std::string& name) {
  if (disk_->passes_through(path)) return base::system_files().open_reserved(path, name);
  auto opened = open_file(disk_, path, FaultFile::Use::kAppend, 0, name);
  if (!opened.ok()) return opened;
  const Status renamed = rename(path, name);
  return renamed.ok() ? std::move(opened) : Result<std::unique_ptr<base::File>>(renamed);
}

Result<std::unique_ptr<base::File>> FaultFiles::open_at(const std::string& path, std::uint64_t offset) {
  if (disk_->passes_through(path)) return base::system_files().open_at(path, offset);
  return open_file(disk_, path, FaultFile::Use::kAppend, offset);
}

Result<std::unique_ptr<base::File>> FaultFiles::open(const std::string& path) {
  if (disk_->passes_through(path)) return base::system_files().open(path);
  return open_file(disk_, path, FaultFile::Use::kRead);
}

Result<std::unique_ptr<base::File>> FaultFiles::lock(const std::string& path) {
  if (disk_->passes_through(path)) return base::system_files().lock(path);
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk_->begin(FileCall::kCreate, path, lock)) return failure(fault->code, "open", path);
  if (!disk_->directories.contains(parent_of(path))) return failure(StatusCode::kNotFound, "open", path);
  if (!disk_->names.contains(path)) disk_->change_names({parent_of(path), "", path, std::make_shared<Inode>()});
  const std::shared_ptr<Inode> inode = disk_->names[path];
  if (inode->locked)
    return Status(StatusCode::kUnavailable, "'" + path + "' is locked: this or another process has this database open");
  inode->locked = true;
  return file(disk_, inode, path, FaultFile::Use::kLock);
}

Status FaultFiles::rename(const std::string& from, const std::string& to) {
  if (disk_->passes_through(to)) return base::system_files().rename(from, to);
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk_->begin(FileCall::kRename, to, lock)) return failure(fault->code, "rename to", to);
  const auto at = disk_->names.find(from);
  if (at == disk_->names.end() || !disk_->directories.contains(parent_of(to)))
    return failure(StatusCode::kNotFound, "rename to", to);
  if (const auto old = disk_->names.find(to); old != disk_->names.end()) disk_->used -= old->second->cache.size();
  disk_->change_names({parent_of(to), from, to, at->second});
  return {};
}

Status FaultFiles::remove(const std::string& path) {
  if (disk_->passes_through(path)) return base::system_files().remove(path);
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk_->begin(FileCall::kRemove, path, lock)) return failure(fault->code, "remove", path);
  const auto at = disk_->names.find(path);
  if (at == disk_->names.end()) return remove_directory(*disk_, path);
  disk_->used -= at->second->cache.size();
  disk_->change_names({parent_of(path), path, "", at->second});
  return {};
}

Result<std::vector<std::string>> FaultFiles::list(const std::string& directory) {
  if (disk_->passes_through(directory + "/")) return base::system_files().list(directory);
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk_->begin(FileCall::kList, directory, lock)) return failure(fault->code, "list", directory);
  if (!disk_->directories.contains(directory)) return failure(StatusCode::kNotFound, "list", directory);
  std::vector<std::string> found;
  const auto add = [&](const std::string& path) {
    if (path != directory && parent_of(path) == directory) found.push_back(path.substr(path.rfind('/') + 1));
  };
  for (const auto& [path, inode] : disk_->names) add(path);
  for (const std::string& path : disk_->directories) add(path);
  std::sort(found.begin(), found.end());
  return found;
}

Status FaultFiles::make_directory(const std::string& path) {
  if (disk_->passes_through(path + "/")) return base::system_files().make_directory(path);
  const std::lock_guard lock(disk_->mutex);
  for (std::string at = path; disk_->directories.insert(at).second && parent_of(at) != at; at = parent_of(at)) {
  }
  return {};
}

Status FaultFiles::sync_directory(const std::string& path) {
  if (disk_->passes_through(path + "/")) return base::system_files().sync_directory(path);
  std::unique_lock<std::mutex> lock;
  if (const auto fault = disk_->begin(FileCall::kSyncDirectory, path, lock)) {
    if (fault->pages_lost)
      std::erase_if(disk_->changes, [&](const NameChange& change) { return change.directory == path; });
    return failure(fault->code, "sync the directory", path);
  }
  if (!disk_->directories.contains(path)) return failure(StatusCode::kNotFound, "open the directory", path);
  std::erase_if(disk_->changes, [&](const NameChange& change) {
    if (change.directory != path) return false;
    change.apply(disk_->durable_names);
    return true;
  });
  return {};
}

}  // namespace granary::tests
