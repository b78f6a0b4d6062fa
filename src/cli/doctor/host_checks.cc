#include "src/cli/doctor/host_checks.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/cli/cluster_check/logout.h"
#include "src/cli/cluster_check/machine_checks.h"

namespace granary::doctor {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastMemory = 256 * kMiB;
/// The least limit of open files: a node has a file for each log segment, ring, peer and HTTP connection.
constexpr std::uint64_t kLeastOpenFiles = 1024;

/// Checks that the kernel has pidfds, by which a node over shm is fenced. They came with Linux 5.3.
Finding check_kernel(const Host& host) {
  Finding finding{.subject = "kernel", .found = host.description.kernel};
  int major = 0, minor = 0;
  if (std::sscanf(host.description.kernel.c_str(), "Linux %d.%d", &major, &minor) != 2) {
    finding.verdict = Verdict::kBad;
    finding.found = fmt::format("'{}' is no Linux whose version is known", host.description.kernel);
    finding.mend = "use Linux 5.3 or later";
  } else if (major < 5 || (major == 5 && minor < 3)) {
    finding.verdict = Verdict::kBad;
    finding.mend = "use Linux 5.3 or later: earlier ones cannot end a process by its descriptor (pidfd)";
  }
  return finding;
}

Finding check_processor(const Host& host) {
  const int level = x86_level(host.cpu_flags);
  Finding finding{.subject = "processor",
                  .found = fmt::format("{}, {} CPUs for this process, x86-64-v{}", host.description.cpu_model,
                                       host.machine.cpus.size(), level)};
  if (level < 2) {
    finding.verdict = Verdict::kBad;
    finding.mend =
        "Granary is compiled for x86-64-v2; a virtual machine may hide it: give it the host's processor type";
  }
  return finding;
}

Finding check_tsx(const Host& host) {
  if (host.tsx_works) return {.subject = "Intel TSX", .found = "works; '--htm=auto' uses it"};
  const char* const why = host.cpu_flags.contains("rtm") ? "the processor has it, but a region never commits"
                                                         : "the processor has none, or it is switched off";
  return {.subject = "Intel TSX", .verdict = Verdict::kNote, .found = fmt::format("{}; Granary works without", why)};
}

Finding check_time_counter(const Host& host) {
  Finding finding{.subject = "time counter", .found = fmt::format("clock source '{}'", host.clock_source)};
  std::vector<std::string> missing;
  for (const char* flag : {"constant_tsc", "nonstop_tsc"}) {
    if (!host.cpu_flags.contains(flag)) missing.emplace_back(flag);
  }
  if (!missing.empty()) {
    finding.verdict = Verdict::kWarning;
    finding.found += fmt::format("; the processor lacks {}", fmt::join(missing, " and "));
    finding.mend = "reading the clock takes longer without; in a virtual machine, pass 'invtsc' through";
  } else if (host.clock_source != "tsc" && host.clock_source != "kvm-clock") {
    finding.verdict = Verdict::kWarning;
    finding.mend =
        "dmesg | grep -i tsc tells why the kernel does not trust the counter; boot with tsc=reliable if it may";
  }
  return finding;
}

Finding check_ptp(const Host& host) {
  if (host.ptp4l) {
    return {.subject = "PTP", .found = fmt::format("ptp4l has its socket; {} hardware clocks", host.ptp_clocks)};
  }
  return {.subject = "PTP",
          .verdict = Verdict::kNote,
          .found = fmt::format("ptp4l does not run; {} hardware clocks", host.ptp_clocks),
          .mend = "only clusters of several hosts with leases need it: apt install linuxptp (docs/clock.md)"};
}

Finding check_frequency(const Host& host) {
  const std::string& governor = host.description.governor;
  if (governor == "none") return {.subject = "frequency", .found = "not set by this system"};
  Finding finding{.subject = "frequency", .found = fmt::format("governor '{}'", governor)};
  if (governor != "performance") {
    finding.verdict = Verdict::kWarning;
    finding.mend = "cpupower frequency-set -g performance, for even latencies";
  }
  return finding;
}

Finding check_memory(const Host& host) {
  Finding finding{.subject = "memory",
                  .found = fmt::format("{} MiB available of {} MiB", host.available_bytes / kMiB,
                                       host.machine.memory_bytes / kMiB)};
  if (host.available_bytes < kLeastMemory) {
    finding.verdict = Verdict::kWarning;
    finding.mend = "end what takes it: ps aux --sort=-rss | head";
  }
  return finding;
}

Finding check_swap(const Host& host) {
  if (host.swap_bytes == 0) return {.subject = "swap", .found = "none"};
  return {
      .subject = "swap",
      .verdict = Verdict::kWarning,
      .found = fmt::format("{} MiB: records that are swapped out take milliseconds to reach", host.swap_bytes / kMiB),
      .mend = "swapoff -a, or sysctl vm.swappiness=1"};
}

Finding check_numa(const Host& host) {
  const std::size_t nodes = host.machine.numa_nodes.size();
  if (nodes == 1) return {.subject = "NUMA nodes", .found = "1"};
  return {.subject = "NUMA nodes",
          .verdict = Verdict::kNote,
          .found = fmt::format("{}: memory of another one is slower", nodes),
          .mend = "run a node of the cluster on each, with 'numa_node' and 'cpus' (docs/cluster-file.md)"};
}

/// Checks that the kernel's setting of transparent huge pages is one of the two useful ones.
Finding check_transparent(const char* subject, const std::string& setting, const char* asked, const char* path) {
  Finding finding{.subject = subject, .found = fmt::format("transparent: {}", setting)};
  if (setting != "always" && setting != asked) {
    finding.verdict = Verdict::kWarning;
    finding.mend = fmt::format("echo {} > /sys/kernel/mm/transparent_hugepage/{}", asked, path);
  }
  return finding;
}

Finding check_reserved(const Host& host) {
  const bench::Machine& machine = host.description;
  if (machine.huge_pages_total != 0) {
    return {.subject = "reserved pages",
            .found = fmt::format("{} of 2 MiB are free of {}", machine.huge_pages_free, machine.huge_pages_total)};
  }
  return {.subject = "reserved pages",
          .verdict = Verdict::kNote,
          .found = "no huge pages are reserved; transparent ones are enough for most",
          .mend = "sysctl vm.nr_hugepages=N, with N times 2 MiB for the databases' memory"};
}

/// Looks at the limit of locked memory, which matters only with RDMA devices, as these pin memory.
Finding check_lock_limit(const Host& host) {
  if (host.machine.lock_limit_bytes == std::numeric_limits<std::uint64_t>::max())
    return {.subject = "locked memory", .found = "no limit"};
  return {.subject = "locked memory",
          .verdict = host.machine.devices.empty() ? Verdict::kNote : Verdict::kWarning,
          .found = fmt::format("a process may lock {} MiB; over RDMA, a node locks all of its memory",
                               host.machine.lock_limit_bytes / kMiB),
          .mend = cluster_check::kMendLockLimit};
}

Finding check_open_files(const Host& host) {
  Finding finding{.subject = "open files", .found = fmt::format("a process may have {}", host.open_files)};
  if (host.open_files == std::numeric_limits<std::uint64_t>::max()) finding.found = "no limit";
  if (host.open_files < kLeastOpenFiles) {
    finding.verdict = Verdict::kWarning;
    finding.mend = fmt::format("ulimit -n {}, or 'nofile' in /etc/security/limits.d, or LimitNOFILE= of the unit",
                               64 * kLeastOpenFiles);
  }
  return finding;
}

/// Checks /dev/shm, where log rings lie so that they outlive a process.
Finding check_shared_memory(const Host& host) {
  const FileSystem& shm = host.shared_memory;
  Finding finding{
      .subject = "/dev/shm",
      .found = fmt::format("{}, {} MiB free of {} MiB", shm.type, shm.free_bytes / kMiB, shm.size_bytes / kMiB)};
  if (shm.type != "tmpfs") {
    finding.verdict = Verdict::kBad;
    finding.found = shm.type.empty() ? "it is not there" : fmt::format("it is {}, no tmpfs", shm.type);
    finding.mend = "mount -t tmpfs tmpfs /dev/shm, or name another 'reliable_directory' in memory";
  } else if (shm.free_bytes < kLeastMemory) {
    finding.verdict = Verdict::kWarning;
    finding.mend =
        "mount -o remount,size=50% /dev/shm; in a container, --shm-size. Databases have their log rings there";
  }
  return finding;
}

}  // namespace

Findings check_host(const Host& host) {
  const bench::Machine& machine = host.description;
  return {check_kernel(host),
          check_processor(host),
          check_tsx(host),
          check_time_counter(host),
          check_ptp(host),
          check_frequency(host),
          check_memory(host),
          check_swap(host),
          check_numa(host),
          check_transparent("huge pages", machine.transparent_huge_pages, "madvise", "enabled"),
          check_transparent("shared huge pages", machine.shared_huge_pages, "advise", "shmem_enabled"),
          check_reserved(host),
          check_lock_limit(host),
          check_open_files(host),
          check_shared_memory(host),
          cluster_check::check_logout(host.machine.logout_removes_rings)};
}

}  // namespace granary::doctor
