#pragma once
// Space of a file that is set aside at once, whatever signals come meanwhile.

#include <cstdint>

namespace granary::base {

/// Sets `bytes` aside from the file's start on, as posix_fallocate() does; returns 0, or the error's number. A file
/// system in memory may end that call at any signal and undo its work, so a timer of a few milliseconds could keep a
/// large call from ever coming to its end: after a signal it is done in smaller pieces, each of which is kept.
int allocate(int descriptor, std::uint64_t bytes);

}  // namespace granary::base
