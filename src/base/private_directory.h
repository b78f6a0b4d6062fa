#pragma once
// Makes and checks directories whose content is this user's alone, such as memory that processes share by name. They
// may lie where all users may make files (/dev/shm), under a name that can be guessed. So a directory that another user
// has prepared there is refused.

#include <string>

#include <granary/status.h>

namespace granary::base {

/// Returns kFailedPrecondition, with what is wrong, unless `path` itself is a directory (no symbolic link) that only
/// this user can write to. Returns kNotFound if there is nothing.
Status check_private_directory(const std::string& path);

/// Makes the directory with mode 0700, and those above it with the usual mode. If it is there already, it is checked,
/// and closed to readers.
Status make_private_directory(const std::string& path);

}  // namespace granary::base
