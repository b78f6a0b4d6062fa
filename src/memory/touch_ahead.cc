#include "src/memory/touch_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace granary::memory {
namespace {

// The kernel may know this advice even if the system's headers do not.
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;

}  // namespace

bool TouchAhead::of_use(int numa_node) {
  return numa_node >= 0 || ::access("/sys/devices/system/node/node1", F_OK) != 0;
}

/// Begins at a whole piece, since the system takes no address within a page. What lies before it is touched by whoever
/// takes it.
TouchAhead::TouchAhead(Region& region, std::uint64_t touched)
    : region_(region),
      touched_((touched + kPiece - 1) / kPiece * kPiece),
      seen_(region.used()) {}

std::uint64_t TouchAhead::step() {
  const std::uint64_t used = region_.used();
  const std::uint64_t grown = used - seen_;
  seen_ = used;
  if (grown == 0 || cannot_) return 0;
  // A page below `used` has been taken, so the thread that took it touches it. Populating changes no byte, so a page
  // may be taken meanwhile.
  touched_ = std::max(touched_, used / kPiece * kPiece);
  const std::uint64_t wanted = std::min(used + std::min(2 * grown, kMost), region_.size());
  const std::uint64_t from = touched_;
  for (; touched_ < wanted; touched_ += kPiece) {
    if (::madvise(region_.base() + touched_, std::min(kPiece, region_.size() - touched_), kPopulateWrite) == 0)
      continue;
    cannot_ = errno == EINVAL;  // any other error may pass, as a lack of memory does
    break;
  }
  return touched_ - from;
}

}  // namespace granary::memory
