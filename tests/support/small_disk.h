#pragma once
// A real file system of a few MiB, in memory, that only this process and its children see. It needs root or unprivileged
// user namespaces; where there is neither, a test skips with why().

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace granary::tests {

class SmallDisk {
 public:
  explicit SmallDisk(unsigned mebibytes) {
    static const std::string refused = enter_namespace();  // once a process
    why_ = refused;
    if (why_.empty() && !mount_with(mebibytes, 0)) why_ = reason("mount a tmpfs");
  }
  ~SmallDisk() {
    if (mounted()) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return why_.empty(); }
  /// Why it is not mounted.
  const std::string& why() const { return why_; }
  const std::string& path() const { return mount_point_.path(); }
  [[nodiscard]] bool resize(unsigned mebibytes) const { return mount_with(mebibytes, MS_REMOUNT); }

 private:
  static std::string reason(const std::string& what) {
    return "cannot " + what + " (" + std::strerror(errno) + "); this test needs root or unprivileged user namespaces";
  }
  static bool write_to(const char* path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    return file.flush().good();
  }
  /// Mounts made from now on are this process's own. "" if that works.
  static std::string enter_namespace() {
    const auto user = std::to_string(::getuid()), group = std::to_string(::getgid());
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return reason("make a mount namespace");
      if (!write_to("/proc/self/setgroups", "deny") || !write_to("/proc/self/uid_map", "0 " + user + " 1") ||
          !write_to("/proc/self/gid_map", "0 " + group + " 1"))
        return reason("map users");
    }
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? "" : reason("make mounts private");
  }
  bool mount_with(unsigned mebibytes, unsigned long flags) const {
    const std::string size = "size=" + std::to_string(mebibytes) + "m";
    return ::mount("none", path().c_str(), "tmpfs", flags, size.c_str()) == 0;
  }

  TemporaryDirectory mount_point_;
  std::string why_;
};

}  // namespace granary::tests
