#include "cluster_config/membership/local/heartbeat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/allocate.h"
#include "src/base/file.h"
#include "src/base/test_hooks.h"

namespace granary::membership {
namespace {

constexpr std::size_t kBytes = 4096;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

}  // namespace

Result<Heartbeat> Heartbeat::begin(const std::string& path, std::uint64_t timeout_us) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return base::file_error("open", path, errno);
  // The file is allocated, not only extended: a store into a page for which a full file system has no room would end
  // the process.
  const int error = base::allocate(file, kBytes);
  ::close(file);
  if (error != 0) return base::file_error("allocate", path, error);
  Result<Heartbeat> heartbeat = map(path, O_RDWR, PROT_READ | PROT_WRITE);
  if (!heartbeat.ok()) return heartbeat;
  Words& words = *heartbeat->words_;
  words.timeout_us.store(timeout_us, std::memory_order_relaxed);
  // The beats begin with the next even number, which differs from all that were seen of an earlier life. No other
  // process beats, as the mark is ours.
  std::uint64_t last = words.beats.load(std::memory_order_relaxed);
  while (!words.beats.compare_exchange_weak(last, (last | kCondemned) + 1, std::memory_order_acq_rel)) {
  }
  return heartbeat;
}

Result<Heartbeat> Heartbeat::look(const std::string& path) { return map(path, O_RDONLY, PROT_READ); }

Result<Heartbeat> Heartbeat::reach(const std::string& path) { return map(path, O_RDWR, PROT_READ | PROT_WRITE); }

Result<Heartbeat> Heartbeat::map(const std::string& path, int flags, int protection) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return base::file_error("open", path, errno);
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  void* const words = known && status.st_size >= static_cast<off_t>(kBytes)
                          ? ::mmap(nullptr, kBytes, protection, MAP_SHARED, file, 0)
                          : MAP_FAILED;
  const int error = errno;
  ::close(file);
  if (known && status.st_size < static_cast<off_t>(kBytes))
    return Status(StatusCode::kNotFound, fmt::format("'{}' is being made", path));
  if (words == MAP_FAILED) return base::file_error("map", path, error);
  return Heartbeat(static_cast<Words*>(words));
}

Heartbeat::~Heartbeat() {
  if (words_ != nullptr) ::munmap(words_, kBytes);
}

bool Heartbeat::condemn(std::uint64_t seen) {
  if (base::injected("condemn-any-beat")) {
    words_->beats.fetch_or(kCondemned, std::memory_order_acq_rel);
    return true;
  }
  if ((seen & kCondemned) != 0) return condemned();
  std::uint64_t expected = seen;
  return words_->beats.compare_exchange_strong(expected, seen | kCondemned, std::memory_order_acq_rel) ||
         (expected & kCondemned) != 0;
}

}  // namespace granary::membership
