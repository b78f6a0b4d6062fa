#pragma once
// Facts that `granary doctor` looks at on a host, as plain values, so that tests can judge hosts of every kind.

#include <cstdint>
#include <set>
#include <string>

#include "bench/harness/machine.h"
#include "src/cli/cluster_check/machine.h"

namespace granary::doctor {

/// A mounted file system.
struct FileSystem {
  std::string type;  ///< "ext4", "tmpfs", ..., or its magic number as "0x1234"; empty if it could not be asked
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< free space for users other than root
};

/// Returns the file system on which a path lies. Precondition: the path exists.
FileSystem file_system_of(const std::string& path);

struct Host {
  cluster_check::Machine machine;  ///< with its RDMA devices
  bench::Machine description;      ///< kernel, processor, huge pages
  std::set<std::string> cpu_flags;
  bool tsx_works = false;
  std::string clock_source;      ///< "tsc", ...
  std::uint32_t ptp_clocks = 0;  ///< hardware clocks of network devices
  bool ptp4l = false;            ///< whether ptp4l's socket is at its usual place
  std::uint64_t available_bytes = 0;
  std::uint64_t swap_bytes = 0;
  std::uint64_t open_files = 0;  ///< RLIMIT_NOFILE
  FileSystem shared_memory;      ///< the file system of /dev/shm
};

Host this_host();

/// Returns the highest level of x86-64, 1 to 4, whose instructions the flags of /proc/cpuinfo contain.
int x86_level(const std::set<std::string>& cpu_flags);

}  // namespace granary::doctor
