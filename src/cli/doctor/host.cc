#include "src/cli/doctor/host.h"

#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cluster_config/config.h"
#include "htm/rtm.h"

namespace granary::doctor {
namespace {

std::string first_word(const char* path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

/// Returns the flags of the first processor.
std::set<std::string> cpu_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

std::uint32_t ptp_clocks() {
  std::error_code none;
  std::uint32_t count = 0;
  for ([[maybe_unused]] const auto& clock : std::filesystem::directory_iterator("/sys/class/ptp", none)) ++count;
  return count;
}

std::uint64_t open_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

/// Returns the name of a file system by its magic number (statfs(2)), or the number if it has none here.
std::string type_name(std::uint32_t magic) {
  switch (magic) {
    case 0xef53: return "ext4";  // ext2 and ext3 have the same number
    case 0x58465342: return "xfs";
    case 0x9123683e: return "btrfs";
    case 0x2fc12fc1: return "zfs";
    case 0xf2f52010: return "f2fs";
    case 0x01021994: return "tmpfs";
    case 0x858458f6: return "ramfs";
    case 0x794c7630: return "overlay";
    case 0x6969: return "nfs";
    case 0xff534d42: return "cifs";
    case 0xfe534d42: return "smb2";
    case 0x65735546: return "fuse";
    case 0x00c36400: return "ceph";
    case 0x01021997: return "9p";
    default: return fmt::format("0x{:x}", magic);
  }
}

}  // namespace

FileSystem file_system_of(const std::string& path) {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) != 0) return {};
  const auto block = static_cast<std::uint64_t>(facts.f_bsize);
  return {type_name(static_cast<std::uint32_t>(facts.f_type)), facts.f_blocks * block, facts.f_bavail * block};
}

Host this_host() {
  Host host{.machine = cluster_check::this_machine(/*with_devices=*/true),
            .description = bench::describe_machine(),
            .cpu_flags = cpu_flags(),
            .tsx_works = htm::rtm_works(),
            .clock_source = first_word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            .ptp_clocks = ptp_clocks(),
            .available_bytes = bench::available_memory(),
            .open_files = open_files(),
            .shared_memory = file_system_of("/dev/shm")};
  std::error_code none;
  host.ptp4l = std::filesystem::exists(cluster_config::ClockConfig().pmc_socket, none);
  struct sysinfo system {};
  if (::sysinfo(&system) == 0) host.swap_bytes = std::uint64_t{system.totalswap} * system.mem_unit;
  return host;
}

int x86_level(const std::set<std::string>& cpu_flags) {
  using Flags = std::initializer_list<const char*>;
  const std::array<Flags, 3> levels{
      Flags{"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
      Flags{"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
      Flags{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
  };
  int level = 1;
  for (const Flags& needed : levels) {
    if (!std::all_of(needed.begin(), needed.end(), [&](const char* flag) { return cpu_flags.contains(flag); })) break;
    ++level;
  }
  return level;
}

}  // namespace granary::doctor
