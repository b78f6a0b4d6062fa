#include "src/base/file_sync.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace granary::base {
namespace {

/// Sets the file's times to now, a change that costs little and that the next fdatasync() does not wait for. Returns 0,
/// or an errno that tells of a broken file system. It also returns 0 if this process may not change the times, which
/// says nothing about the disk.
int touch(int descriptor) {
  if (::futimens(descriptor, nullptr) == 0) return 0;
  return errno == EIO || errno == EROFS ? errno : 0;
}

}  // namespace

/// Makes two changes. The first one lets ext4 find its journal broken, without an error; the second one is refused
/// then.
int confirm_sync(int descriptor) {
  const int error = touch(descriptor);
  return error != 0 ? error : touch(descriptor);
}

int sync_data(int descriptor) { return ::fdatasync(descriptor) == 0 ? confirm_sync(descriptor) : errno; }

int sync_all(int descriptor) { return ::fsync(descriptor) == 0 ? confirm_sync(descriptor) : errno; }

}  // namespace granary::base
