#include "src/base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/file.h"

namespace granary::base {
namespace {

Status no_lock(const std::string& path) {
  return {StatusCode::kFailedPrecondition,
          "'" + path +
              "' is to be the lock of a database's directory, but it is no regular file: remove it, the next opening "
              "makes it again"};
}

/// Returns the reason why open() did not open the path. open() itself refuses a directory, a socket and a link to
/// itself.
Status open_failure(const std::string& path, int error) {
  return error == EISDIR || error == ENXIO || error == ELOOP ? no_lock(path) : file_error("open", path, error);
}

/// Returns a descriptor of the file at the path. If nothing is there and `make`, it makes a new file. A link to nothing
/// is not followed, since that would make the lock at the place that it points to.
Result<Descriptor> open_or_make(const std::string& path, int flags, bool make) {
  // Without O_NONBLOCK, opening a pipe in the place of the file would wait until a process opens its other end.
  flags |= O_CLOEXEC | O_NONBLOCK;
  for (;;) {
    Descriptor found(::open(path.c_str(), flags));
    if (found.open()) return found;
    if (errno != ENOENT) return open_failure(path, errno);
    struct stat about {};
    if (::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode)) return no_lock(path);
    if (!make) return file_error("open", path, ENOENT);
    Descriptor made(::open(path.c_str(), flags | O_CREAT | O_EXCL, kNewFileMode));
    if (made.open()) return made;
    if (errno != EEXIST) return open_failure(path, errno);  // otherwise another process has just made it
  }
}

}  // namespace

Result<Descriptor> open_locked(const std::string& path, LockKind kind) {
  const bool whole = kind == LockKind::kWhole;
  auto opened = open_or_make(path, whole ? O_RDWR : O_RDONLY, whole);
  if (!opened.ok()) return opened;
  struct stat about {};
  if (::fstat(opened->get(), &about) != 0) return file_error("look at", path, errno);
  if (!S_ISREG(about.st_mode)) return no_lock(path);
  const auto take = [&opened](int operation) { return ::flock(opened->get(), operation | LOCK_NB) == 0; };
  if (take(whole ? LOCK_EX : LOCK_SH)) return opened;
  if (errno != EWOULDBLOCK) return file_error("lock", path, errno);
  // Another process that looks at the same moment has the shared lock, too, for a moment, and gives it up again.
  bool others_read = false;
  for (int attempt = 0; whole && attempt < 3; ++attempt) {
    others_read = take(LOCK_SH);
    if (!others_read) break;
    if (take(LOCK_EX)) return opened;
    take(LOCK_UN);
    ::usleep(1000U << attempt);
    if (take(LOCK_EX)) return opened;
  }
  if (others_read) {
    return Status(StatusCode::kUnavailable,
                  "'" + path +
                      "' is locked by a program that only reads the database, as `granary log verify` does: wait until "
                      "it has ended, or end it");
  }
  return Status(StatusCode::kUnavailable, "'" + path + "' is locked: this or another process has this database open");
}

void unlock(int descriptor, pid_t taker) {
  if (::getpid() == taker) ::flock(descriptor, LOCK_UN);
}

}  // namespace granary::base
