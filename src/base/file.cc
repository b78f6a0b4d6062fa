#include "src/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "src/base/allocate.h"
#include "src/base/descriptor.h"
#include "src/base/direct_file.h"
#include "src/base/file_sync.h"
#include "src/base/lock_file.h"
#include "src/base/region_mark.h"
#include "src/base/test_hooks.h"

namespace granary::base {

Status file_error(const char* operation, const std::string& path, int error) {
  const std::string message = std::string("cannot ") + operation + " '" + path + "': " + std::strerror(error);
  switch (error) {
    case ENOENT: return {StatusCode::kNotFound, message};
    case EEXIST: return {StatusCode::kAlreadyExists, message};
    case ENOSPC:
    case EDQUOT: return {StatusCode::kDiskFull, message};
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:  // the path is wrong, not the disk
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EMFILE:  // limits of the process and of the system
    case ENFILE: return {StatusCode::kUnavailable, message};
    default: return {StatusCode::kIoError, message};
  }
}

namespace {

Status failed(const char* operation, const std::string& path) { return file_error(operation, path, errno); }

/// Writes zeros to a file that was set aside if its file system is in memory. Such a file system only books the pages
/// that are set aside, and finds each of them at the first write to it.
void touch_if_memory(int descriptor, std::uint64_t bytes) {
  struct statfs status {};
  if (::fstatfs(descriptor, &status) != 0 || status.f_type != TMPFS_MAGIC) return;
  static constexpr std::array<char, std::size_t{1} << 16> zeros{};
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), bytes - at));
    if (::pwrite(descriptor, zeros.data(), length, static_cast<off_t>(at)) < 0) return;  // then writes are only slower
  }
}

class SystemFile : public File {
 public:
  SystemFile(Descriptor descriptor, std::string path) : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;

  int descriptor() const { return descriptor_.get(); }

  Status append(std::span<const char> bytes) override {
    outside_region();
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed("write to", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  Status sync() override {
    outside_region();
    const int error = sync_data(descriptor());
    return error == 0 ? Status() : file_error("sync", path_, error);
  }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override {
    outside_region();
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got =
          ::pread(descriptor(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unreadable_at(offset + done, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<std::uint64_t> size() override {
    struct stat status {};
    if (::fstat(descriptor(), &status) != 0) return failed("look at", path_);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Status unreadable_at(std::uint64_t offset, int error) const {
    const Status plain = file_error("read", path_, error);
    return {plain.code(), plain.message() + " (at offset " + std::to_string(offset) + ")"};
  }

  void drop_cache() override { static_cast<void>(::posix_fadvise(descriptor(), 0, 0, POSIX_FADV_DONTNEED)); }

 private:
  const Descriptor descriptor_;
  const std::string path_;
};

/// Unlocks the file explicitly, since closing it would not do so while a child of this process has the descriptor, too.
class LockFile final : public SystemFile {
 public:
  using SystemFile::SystemFile;
  ~LockFile() override { unlock(descriptor(), taker_); }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  const pid_t taker_ = ::getpid();
};

/// A directory that is open to be synced.
class SystemDirectory final : public SystemFile {
 public:
  SystemDirectory(Descriptor descriptor, std::string path)
      : SystemFile(std::move(descriptor), path),
        path_(std::move(path)) {}

  Status sync() override {
    outside_region();
    const int error = sync_all(descriptor());
    return error == 0 ? Status() : file_error("sync the directory", path_, error);
  }

 private:
  const std::string path_;
};

/// A directory of a file system that has no descriptors of directories.
class NamedDirectory final : public File {
 public:
  NamedDirectory(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  Status append(std::span<const char> /*bytes*/) override { return only_to_sync(); }
  Status sync() override { return files_.sync_directory(path_); }
  Result<std::size_t> read_at(std::uint64_t /*offset*/, std::span<char> /*bytes*/) override { return only_to_sync(); }
  Result<std::uint64_t> size() override { return only_to_sync(); }

 private:
  Status only_to_sync() const {
    return {StatusCode::kFailedPrecondition, "the directory '" + path_ + "' is open only to sync it"};
  }

  FileSystem& files_;
  const std::string path_;
};

class SystemFiles final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> create(const std::string& path) override {
    return open_with(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, "create");
  }
  Result<std::unique_ptr<File>> create_direct(const std::string& path) override { return DirectFile::create(path); }
  Status reserve(const std::string& path, std::uint64_t bytes) override {
    auto file = open_with(path, O_WRONLY | O_CREAT | O_EXCL, "create");
    if (!file.ok()) return file.status();
    const int descriptor = static_cast<SystemFile&>(**file).descriptor();
    errno = allocate(descriptor, bytes);
    if (errno == 0) {
      touch_if_memory(descriptor, bytes);
      return {};
    }
    const Status full = failed("set aside space for", path);
    ::unlink(path.c_str());
    return full;
  }
  Result<std::unique_ptr<File>> open_reserved(const std::string& path, const std::string& name) override {
    return DirectFile::open_reserved(path, name);
  }
  Result<std::unique_ptr<File>> open_at(const std::string& path, std::uint64_t offset) override {
    auto file = open_with(path, O_WRONLY, "open");
    if (!file.ok()) return file;
    const int descriptor = static_cast<SystemFile&>(**file).descriptor();
    if (::lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) < 0) return failed("go to an offset of", path);
    return file;
  }
  Result<std::unique_ptr<File>> open(const std::string& path) override { return open_with(path, O_RDONLY, "open"); }

  Result<std::unique_ptr<File>> lock(const std::string& path) override {
    auto locked = open_locked(path, LockKind::kWhole);
    if (!locked.ok()) return locked.status();
    return std::unique_ptr<File>(std::make_unique<LockFile>(std::move(*locked), path));
  }

  Status rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : failed("rename to", to);
  }
  Status remove(const std::string& path) override {
    return ::remove(path.c_str()) == 0 ? Status() : failed("remove", path);
  }

  Result<std::vector<std::string>> list(const std::string& directory) override {
    const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> opened(::opendir(directory.c_str()));
    DIR* const stream = opened.get();
    if (stream == nullptr) return failed("list", directory);
    std::vector<std::string> names;
    errno = 0;  // the end and an error look alike otherwise
    for (const dirent* entry = ::readdir(stream); entry != nullptr; errno = 0, entry = ::readdir(stream)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) return failed("list", directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  Status make_directory(const std::string& path) override {
    std::error_code error;
    std::vector<std::filesystem::path> missing;  // the lowest first
    std::filesystem::path at = std::filesystem::absolute(path, error).lexically_normal();
    if (!at.has_filename()) at = at.parent_path();
    for (; !error && !std::filesystem::exists(at, error) && !error; at = at.parent_path()) missing.push_back(at);
    error.clear();  // an error that matters will come again
    // Each name is durable before anything is made in its directory: files that are synced in a directory are lost if
    // the directory's own name is. So an empty directory is the only one whose name a process may not have synced.
    if (const Status synced = sync_name_if_empty(at); !synced.ok()) return synced;
    for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
      const bool made = std::filesystem::create_directory(*next, error);
      if (error) return file_error("make the directory", path, error.value());
      Status synced = sync_directory(next->parent_path());
      if (synced.ok()) continue;
      // A later sync may succeed although the name is lost, so the next call has to make the directory anew.
      if (made) std::filesystem::remove(*next, error);
      return synced;
    }
    if (missing.empty() && !std::filesystem::is_directory(at, error))
      return file_error("make the directory", path, error ? error.value() : ENOTDIR);
    return {};
  }

  Status sync_directory(const std::string& path) override {
    const auto directory = open_directory(path);
    return directory.ok() ? (*directory)->sync() : directory.status();
  }
  Result<std::unique_ptr<File>> open_directory(const std::string& path) override {
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.open()) return failed("open the directory", path);
    return std::unique_ptr<File>(std::make_unique<SystemDirectory>(std::move(descriptor), path));
  }

 private:
  /// Makes the name of an empty directory durable. The process that made it may have been killed before it did that.
  /// The name is passed by if the directory is a mount point, which does not need it, or if this user may not read
  /// and write the parent directory, as then another program has made it.
  Status sync_name_if_empty(const std::filesystem::path& path) {
    std::error_code error;
    const bool empty = std::filesystem::is_directory(path, error) && std::filesystem::is_empty(path, error);
    if (error == std::errc::permission_denied) return {};
    if (error) return file_error("make the directory", path, error.value());
    const std::string parent = path.parent_path();
    struct stat own {};
    struct stat above {};
    if (!empty || ::stat(path.c_str(), &own) != 0 || ::stat(parent.c_str(), &above) != 0) return {};
    if (own.st_dev != above.st_dev || ::faccessat(AT_FDCWD, parent.c_str(), R_OK | W_OK, AT_EACCESS) != 0) return {};
    return sync_directory(parent);
  }
  static Result<std::unique_ptr<File>> open_with(const std::string& path, int flags, const char* operation) {
    // Without O_NONBLOCK, opening a pipe in the place of a file would wait until a process writes into it.
    Descriptor descriptor(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, kNewFileMode));
    if (!descriptor.open()) return failed(operation, path);
    struct stat about {};
    if (::fstat(descriptor.get(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
      return Status(StatusCode::kUnavailable,
                    std::string("cannot ") + operation + " '" + path + "': it is no regular file");
    }
    return std::unique_ptr<File>(std::make_unique<SystemFile>(std::move(descriptor), path));
  }
};

}  // namespace

Result<std::unique_ptr<File>> FileSystem::open_directory(const std::string& path) {
  return std::unique_ptr<File>(std::make_unique<NamedDirectory>(*this, path));
}

FileSystem& system_files() {
  static SystemFiles files;
  return files;
}

Result<std::string> read_file(FileSystem& files, const std::string& path) {
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  const auto size = (*file)->size();
  if (!size.ok()) return size.status();
  std::string bytes(*size, '\0');
  const auto got = (*file)->read_at(0, bytes);
  if (!got.ok()) return got.status();
  bytes.resize(*got);
  return bytes;
}

namespace {

Status write_synced(FileSystem& files, const std::string& path, FunctionRef<Status(File& file)> write) {
  auto file = files.create(path);
  if (!file.ok()) return file.status();
  if (const Status written = write(**file); !written.ok()) return written;
  return (*file)->sync();
}

}  // namespace

Status replace_file(FileSystem& files, const std::string& path, std::span<const char> bytes) {
  return replace_file(files, path, [bytes](File& aside) { return aside.append(bytes); });
}

Status replace_file(FileSystem& files, const std::string& path, FunctionRef<Status(File& aside)> write) {
  const std::string aside = path + std::string(kAsideSuffix);
  if (const Status removed = files.remove(aside); !removed.ok() && removed.code() != StatusCode::kNotFound)
    return removed;
  const Status written = write_synced(files, aside, write);
  if (const Status renamed = written.ok() ? files.rename(aside, path) : written; !renamed.ok()) {
    static_cast<void>(files.remove(aside));  // the caller gets the first error
    return renamed;
  }
  if (base::injected("skip-directory-sync")) return {};
  const auto slash = path.rfind('/');
  return files.sync_directory(slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1)));
}

}  // namespace granary::base
