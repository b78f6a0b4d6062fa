// A library to be preloaded (LD_PRELOAD) into the client: one call of the system fails as planned, and all later ones
// succeed, as with a disk that had a moment of trouble. What was to be synced is not, if it is a sync that fails.
//
//   GRANARY_CRASH_CALL    write, sync or rename: which calls count
//   GRANARY_CRASH_PATH    only calls on files with this in their names
//   GRANARY_CRASH_NTH     which of them fails, from 1
//   GRANARY_CRASH_WHEN    calls count from when there is a file of this name; none: at once
//   GRANARY_CRASH_ERROR   EIO, ENOSPC; EINTR and SHORT (half of the bytes), which are no failures and must be made up
//                         for
//   GRANARY_CRASH_PLAIN   there is no io_uring, as in many containers; without it no write or sync could be seen here
//   GRANARY_CRASH_CACHED  files cannot be opened past the page cache
//   GRANARY_CRASH_SYNC_US a sync takes so much longer

#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" {
/// Of the client; another program has none.
__attribute__((weak)) void granary_crash_fault_injected(const char* call, const char* error, const char* path);
}

namespace {

const char* setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
bool asked(const char* name) { return *setting(name) != '\0'; }

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string path_of(int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  return length < 0 ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

/// The error with which this call is to end, which errno has then; "" if it is to succeed.
std::string planned(const char* call, const std::string& path) {
  static std::atomic<long> left{
      std::strtol(setting("GRANARY_CRASH_NTH"), nullptr, 10)};  // counted by all threads, so relaxed
  if (path.find(setting("GRANARY_CRASH_PATH")) == std::string::npos) return {};
  if (asked("GRANARY_CRASH_WHEN") && ::access(setting("GRANARY_CRASH_WHEN"), F_OK) != 0) return {};
  if (left.load(std::memory_order_relaxed) <= 0 || left.fetch_sub(1, std::memory_order_relaxed) != 1) return {};
  const std::string error = setting("GRANARY_CRASH_ERROR");
  if (granary_crash_fault_injected != nullptr) granary_crash_fault_injected(call, error.c_str(), path.c_str());
  errno = error == "ENOSPC" ? ENOSPC : error == "EINTR" ? EINTR : EIO;
  return error;
}

/// Calls `real(bytes to write)` unless the call is to fail.
template <typename Real>
ssize_t planned_write(int descriptor, std::size_t bytes, Real&& real) {
  if (std::strcmp(setting("GRANARY_CRASH_CALL"), "write") != 0) return real(bytes);
  const std::string error = planned("write", path_of(descriptor));
  if (error.empty()) return real(bytes);
  constexpr std::size_t kSector = 512;  // writes past the page cache are of whole ones
  if (error == "SHORT" && bytes > 1) return real(bytes < 2 * kSector ? bytes / 2 : bytes / 2 / kSector * kSector);
  return -1;
}

template <typename Real>
int planned_sync(int descriptor, Real&& real) {
  static const long longer_us = std::strtol(setting("GRANARY_CRASH_SYNC_US"), nullptr, 10);
  if (longer_us > 0) ::usleep(static_cast<useconds_t>(longer_us));
  if (std::strcmp(setting("GRANARY_CRASH_CALL"), "sync") != 0 || planned("sync", path_of(descriptor)).empty())
    return real();
  return -1;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  return planned_write(descriptor, size, [&](std::size_t count) { return real(descriptor, bytes, count); });
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return planned_write(descriptor, size, [&](std::size_t count) { return real(descriptor, bytes, count, offset); });
}
int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  return planned_sync(descriptor, [&] { return real(descriptor); });
}
int fdatasync(int descriptor) {
  static auto* const real = next<int(int)>("fdatasync");
  return planned_sync(descriptor, [&] { return real(descriptor); });
}
int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  if (std::strcmp(setting("GRANARY_CRASH_CALL"), "rename") == 0 && !planned("rename", to).empty()) return -1;
  return real(from, to);
}

int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  if ((flags & O_DIRECT) != 0 && asked("GRANARY_CRASH_CACHED")) {
    errno = EINVAL;
    return -1;
  }
  return real(path, flags, mode);
}
int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) {
  static auto* const real = next<int(unsigned, io_uring*, unsigned)>("io_uring_queue_init");
  return asked("GRANARY_CRASH_PLAIN") ? -EPERM : real(entries, ring, flags);
}

}  // extern "C"
