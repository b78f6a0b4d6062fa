#pragma once
// Locks files that are there only for that (flock). They say which process may open a database's directory.

#include <sys/types.h>

#include <string>

#include <granary/status.h>

#include "src/base/descriptor.h"

namespace granary::base {

enum class LockKind { kWhole, kToRead };

/// Opens a file of the system and locks it. kWhole excludes all others and makes the file if need be. kToRead admits
/// others of its kind and changes nothing, so it works on a read-only file system. Returns the descriptor; kNotFound if
/// kToRead finds no file; kUnavailable if the file is locked; kFailedPrecondition at once if there is something else
/// than a regular file in its place, such as a link to nothing.
Result<Descriptor> open_locked(const std::string& path, LockKind kind);

/// Gives up the lock that the process `taker` took by open_locked(), even if a child of that process has inherited the
/// descriptor. In any other process this does nothing, as a child must not give up the lock of its parent.
void unlock(int descriptor, pid_t taker);

}  // namespace granary::base
