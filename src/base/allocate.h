#pragma once
// Sets aside space of a file at once, whatever signals come meanwhile.

#include <cstdint>

namespace granary::base {

/// Sets `bytes` aside from the file's start on, as posix_fallocate() does. Returns 0, or the error's number. A file
/// system in memory may end that call at any signal and undo its work, so a timer of a few milliseconds could keep a
/// large call from ever succeeding. Therefore it is done in smaller pieces after a signal, each of which is kept.
int allocate(int descriptor, std::uint64_t bytes);

}  // namespace granary::base
