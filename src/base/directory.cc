#include "src/base/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "src/base/descriptor.h"
#include "src/base/interruptible_files.h"
#include "src/base/lock_file.h"

namespace granary::base {
namespace {

bool are_system_files(FileSystem& files) {
  const auto* const front = dynamic_cast<const InterruptibleFiles*>(&files);
  return front != nullptr ? are_system_files(front->below()) : &files == &system_files();
}

/// A lock that a process holds which only reads.
class ReadLock {
 public:
  explicit ReadLock(Descriptor locked) : locked_(std::move(locked)) {}
  ~ReadLock() { unlock(locked_.get(), taker_); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  const Descriptor locked_;
  const pid_t taker_ = ::getpid();
};

}  // namespace

Result<DirectoryIdentity> identity(FileSystem& files, const std::string& directory) {
  if (!are_system_files(files)) return DirectoryIdentity();
  struct statx found {};
  if (::statx(AT_FDCWD, directory.c_str(), 0, STATX_INO | STATX_BTIME, &found) != 0)
    return file_error("look at", directory, errno);
  DirectoryIdentity identity{.device = ::makedev(found.stx_dev_major, found.stx_dev_minor), .inode = found.stx_ino};
  if ((found.stx_mask & STATX_BTIME) != 0) {
    constexpr std::uint64_t kNanoseconds = 1'000'000'000;
    identity.born_ns = static_cast<std::uint64_t>(found.stx_btime.tv_sec) * kNanoseconds + found.stx_btime.tv_nsec;
  }
  return identity;
}

Result<std::uint32_t> owner(FileSystem& files, const std::string& path) {
  if (!are_system_files(files)) return ::geteuid();
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return file_error("look at", path, errno);
  return found.st_uid;
}

Result<std::uint64_t> free_bytes(FileSystem& files, const std::string& directory) {
  if (!are_system_files(files)) return ~std::uint64_t{0};
  struct statvfs found {};
  if (::statvfs(directory.c_str(), &found) != 0) return file_error("look at the free space of", directory, errno);
  return std::uint64_t{::geteuid() == 0 ? found.f_bfree : found.f_bavail} * found.f_frsize;
}

Result<std::uint64_t> capacity_bytes(FileSystem& files, const std::string& directory) {
  if (!are_system_files(files)) return ~std::uint64_t{0};
  struct statvfs found {};
  if (::statvfs(directory.c_str(), &found) != 0) return file_error("look at the size of", directory, errno);
  return std::uint64_t{found.f_blocks} * found.f_frsize;
}

Result<std::shared_ptr<void>> lock_to_read(const std::string& path) {
  auto locked = open_locked(path, LockKind::kToRead);
  if (!locked.ok()) return locked.status();
  return std::shared_ptr<void>(std::make_shared<ReadLock>(std::move(*locked)));
}

Result<std::string> canonical(const std::string& path) {
  if (path.empty()) return Status(StatusCode::kUnavailable, "no directory is named");
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error)
    return Status(StatusCode::kUnavailable,
                  "cannot tell where '" + path + "' is, for want of a working directory: " + error.message());
  std::filesystem::path found = std::filesystem::weakly_canonical(absolute, error);
  if (error) found = absolute.lexically_normal();
  return found.has_filename() ? found.string() : found.parent_path().string();  // "/db/" is "/db", "/" itself
}

}  // namespace granary::base
