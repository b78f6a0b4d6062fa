#include "bench/harness/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "src/base/group_memory.h"

namespace granary::bench {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the text that follows "key" and a colon in a /proc file; empty if there is none.
std::string proc_field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

std::uint64_t meminfo(std::string_view key) {
  return std::strtoull(proc_field("/proc/meminfo", key).c_str(), nullptr, 10);
}

/// Returns the word in brackets of "always [madvise] never".
std::string chosen(const std::string& line) {
  const std::size_t open = line.find('['), close = line.find(']');
  return open == std::string::npos || close == std::string::npos ? "unknown" : line.substr(open + 1, close - open - 1);
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu_model = proc_field("/proc/cpuinfo", "model name");
  machine.cpus = static_cast<std::uint32_t>(allowed_cpus().size());
  machine.memory_bytes = meminfo("MemTotal") * 1024;
  utsname names{};
  if (uname(&names) == 0) machine.kernel = std::string(names.sysname) + " " + names.release;
  machine.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (machine.governor.empty()) machine.governor = "none";
  machine.transparent_huge_pages = chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  machine.shared_huge_pages = chosen(first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  machine.huge_pages_total = meminfo("HugePages_Total");
  machine.huge_pages_free = meminfo("HugePages_Free");
  return machine;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::uint64_t available_memory() { return std::min(meminfo("MemAvailable") * 1024, base::group_memory().left_bytes); }

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  // Reserved 2 MiB pages are not resident by the kernel's count; their line is in KiB.
  const std::string reserved = proc_field("/proc/self/status", "HugetlbPages");
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) +
         (std::strtoull(reserved.c_str(), nullptr, 10) << 10);
}

double load_average() {
  double loads[1] = {0};
  return getloadavg(loads, 1) == 1 ? loads[0] : 0;
}

}  // namespace granary::bench
