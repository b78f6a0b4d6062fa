#include "src/base/private_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "src/base/file.h"

namespace granary::base {
namespace {

/// Opens a directory, and checks and changes the one that was opened: a name may point to something else a moment
/// later.
class OpenDirectory {
 public:
  explicit OpenDirectory(const std::string& path)
      : path_(path),
        descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
        error_(descriptor_ < 0 ? errno : 0) {}
  ~OpenDirectory() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenDirectory(const OpenDirectory&) = delete;
  OpenDirectory& operator=(const OpenDirectory&) = delete;

  Status check() const {
    if (error_ == ELOOP || error_ == ENOTDIR) return refuse("is no directory, but a file or a symbolic link");
    struct stat status {};
    if (error_ == EACCES && ::lstat(path_.c_str(), &status) == 0 && status.st_uid != ::geteuid()) {
      return refuse_owner(status.st_uid);
    }
    if (error_ != 0) return file_error("open the directory", path_, error_);
    if (::fstat(descriptor_, &status) != 0) return file_error("look at the directory", path_, errno);
    if (status.st_uid != ::geteuid()) return refuse_owner(status.st_uid);
    return (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 ? Status() : refuse("can be written to by other users");
  }

  Status close_to_others() const {
    return ::fchmod(descriptor_, S_IRWXU) == 0 ? Status() : file_error("set the mode of", path_, errno);
  }

 private:
  Status refuse_owner(uid_t owner) const {
    return refuse("belongs to user " + std::to_string(owner) + ", not to user " + std::to_string(::geteuid()));
  }
  Status refuse(const std::string& why) const {
    return {StatusCode::kFailedPrecondition,
            "'" + path_ + "' " + why + ": what is in it cannot be trusted; find out who made it, and remove it"};
  }

  const std::string path_;
  const int descriptor_;
  const int error_;
};

}  // namespace

Status check_private_directory(const std::string& path) { return OpenDirectory(path).check(); }

Status make_private_directory(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  if (const Status made = system_files().make_directory(parent); !made.ok()) return made;
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return system_files().sync_directory(parent);
  if (errno != EEXIST) return file_error("make the directory", path, errno);
  const OpenDirectory found(path);
  const Status checked = found.check();
  return checked.ok() ? found.close_to_others() : checked;
}

}  // namespace granary::base
