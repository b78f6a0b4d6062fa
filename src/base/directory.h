#pragma once
// Answers questions about directories of the system that the file layer does not: which directory a path means, and
// what room there is. A file system that tests put below the file layer has no copies and no renamed directories, and
// any amount of room.

#include <cstdint>
#include <memory>
#include <string>

#include <granary/status.h>

#include "src/base/file.h"

namespace granary::base {

/// Tells a directory from any other, also from one that is at its path later. A copy has another inode or another time
/// of birth, and a directory that was renamed keeps all three numbers.
struct DirectoryIdentity {
  std::uint64_t device = 0;  ///< may change when the file system is mounted again
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;  ///< since 1970; 0 if the file system does not know it

  bool operator==(const DirectoryIdentity&) const = default;
};

/// Returns the identity of an existing directory. It is all zeros unless `files` are the system's, by themselves or
/// below InterruptibleFiles, as other file systems have no inodes.
Result<DirectoryIdentity> identity(FileSystem& files, const std::string& directory);

/// Returns the number of the user who owns an existing file. It is that of this process's user unless `files` are the
/// system's, by themselves or below InterruptibleFiles.
Result<std::uint32_t> owner(FileSystem& files, const std::string& path);

/// Returns how many bytes this user may still write to the file system that the existing directory lies on; the
/// greatest number unless `files` are the system's, by themselves or below InterruptibleFiles.
Result<std::uint64_t> free_bytes(FileSystem& files, const std::string& directory);

/// Returns how many bytes that file system has in all; the greatest number for files that are not the system's.
Result<std::uint64_t> capacity_bytes(FileSystem& files, const std::string& directory);

/// Locks an existing file of the system against FileSystem::lock() but not against other readers. It changes nothing,
/// so it works on a read-only file system. Returns kNotFound if there is no such file, kUnavailable if a process has it
/// by lock(), kFailedPrecondition if it is no regular file. The lock ends with the returned object.
Result<std::shared_ptr<void>> lock_to_read(const std::string& path);

/// Returns where the path points to, whatever the working directory will be: absolute, and without symbolic links as
/// far as it exists. All ways to write a path give the same result. Returns kUnavailable if the path depends on the
/// working directory, and that is gone.
Result<std::string> canonical(const std::string& path);

}  // namespace granary::base
