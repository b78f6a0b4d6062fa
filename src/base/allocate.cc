#include "src/base/allocate.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace granary::base {

int allocate(int descriptor, std::uint64_t bytes) {
  constexpr std::uint64_t kLeastPiece = std::uint64_t{64} << 10;  // it takes microseconds
  std::uint64_t piece = bytes;
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t length = std::min(piece, bytes - at);
    const int error = ::posix_fallocate(descriptor, static_cast<off_t>(at), static_cast<off_t>(length));
    if (error == 0) {
      at += length;
    } else if (error == EINTR) {
      piece = std::max(length / 2, kLeastPiece);
    } else {
      return error;
    }
  }
  return 0;
}

}  // namespace granary::base
