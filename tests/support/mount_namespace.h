#pragma once
// Makes mounts that only this process and its children see, and that go away with them, however they end. This needs
// root or unprivileged user namespaces.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

namespace granary::tests {

/// Returns why a mount is not there, for a test that is skipped.
inline std::string why_not_mounted(const std::string& what) {
  return "cannot " + what + " (" + std::strerror(errno) + "); this test needs root or unprivileged user namespaces";
}

/// Makes the mounts from now on this process's own. Returns "", or why that is not possible. Precondition: the process
/// has one thread.
inline std::string enter_mount_namespace() {
  static const std::string refused = [] {  // runs once in a process
    const auto write_to = [](const char* path, const std::string& text) {
      std::ofstream file(path);
      file << text;
      return file.flush().good();
    };
    const auto user = std::to_string(::getuid()), group = std::to_string(::getgid());
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return why_not_mounted("make a mount namespace");
      if (!write_to("/proc/self/setgroups", "deny") || !write_to("/proc/self/uid_map", "0 " + user + " 1") ||
          !write_to("/proc/self/gid_map", "0 " + group + " 1"))
        return why_not_mounted("map users");
    }
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? std::string()
                                                                            : why_not_mounted("make mounts private");
  }();
  return refused;
}

/// Mounts a file system in memory of so many bytes or, if `resize`, changes the size of the one that is there.
[[nodiscard]] inline bool mount_memory(const std::string& path, std::uint64_t bytes, bool resize = false) {
  const std::string size = "size=" + std::to_string(bytes);
  return ::mount("none", path.c_str(), "tmpfs", resize ? MS_REMOUNT : 0, size.c_str()) == 0;
}

}  // namespace granary::tests
