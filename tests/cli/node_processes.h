#pragma once
// The processes of a cluster on this host, and the memory that each of them has.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/contents.h"
#include "tests/support/units.h"

namespace granary::cli {

struct ClusterProcess {
  std::filesystem::path directory;  ///< in /proc
  std::string command_line;         ///< its words, each ended by a zero byte
};

/// Returns all processes whose command line names the cluster file.
inline std::vector<ClusterProcess> processes_of(const std::string& file) {
  std::vector<ClusterProcess> all;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    std::string command_line = tests::contents(process.path() / "cmdline");
    if (command_line.find(file) != std::string::npos) all.push_back({process.path(), std::move(command_line)});
  }
  return all;
}

/// Whether memory_of() can tell anything on this kernel.
inline bool memory_is_told() {
  return tests::contents("/proc/self/smaps_rollup").find("Pss_Anon:") != std::string::npos;
}

/// Returns the bytes that a process has of anonymous and shared memory, not of files. A page that several processes
/// have mapped counts once in all of them together (the kernel's Pss). 0 if the process has ended.
inline std::uint64_t memory_of(const ClusterProcess& process) {
  std::ifstream rollup(process.directory / "smaps_rollup");
  std::uint64_t kib = 0;
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Pss_Anon:") || line.starts_with("Pss_Shmem:"))
      kib += std::stoull(line.substr(line.find(':') + 1));
  }
  return kib * tests::kKiB;
}

}  // namespace granary::cli
