#pragma once
// Directories whose content is this user's alone, such as memory that processes share by name. They may lie where
// everybody may make files (/dev/shm) under a name that can be guessed, so one that somebody else has prepared there is
// refused.

#include <string>

#include <granary/status.h>

namespace granary::base {

/// kFailedPrecondition, with what is wrong, unless `path` itself is a directory (no symbolic link) that only this user
/// can write to; kNotFound if there is nothing.
Status check_private_directory(const std::string& path);

/// Makes the directory with mode 0700, and those above as they come. One that is there is checked, and closed to
/// readers.
Status make_private_directory(const std::string& path);

}  // namespace granary::base
