#pragma once
// A real file system of a few MiB, in memory, that only this process and its children see. It needs root or
// unprivileged user namespaces. Without them, a test skips itself and shows why().

#include <sys/mount.h>

#include <cstdint>
#include <string>

#include "tests/support/mount_namespace.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {

class SmallDisk {
 public:
  explicit SmallDisk(unsigned mebibytes) : why_(enter_mount_namespace()) {
    if (why_.empty() && !mount_memory(path(), bytes_of(mebibytes))) why_ = why_not_mounted("mount a tmpfs");
  }
  ~SmallDisk() {
    if (mounted()) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return why_.empty(); }
  /// Returns why it is not mounted; "" if it is.
  const std::string& why() const { return why_; }
  const std::string& path() const { return mount_point_.path(); }
  [[nodiscard]] bool resize(unsigned mebibytes) const {
    return mount_memory(path(), bytes_of(mebibytes), /*resize=*/true);
  }

 private:
  static std::uint64_t bytes_of(unsigned mebibytes) { return std::uint64_t{mebibytes} << 20; }

  TemporaryDirectory mount_point_;
  std::string why_;
};

}  // namespace granary::tests
