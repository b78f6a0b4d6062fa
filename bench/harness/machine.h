#pragma once
// What the benchmark runs on, and what that machine is doing besides.

#include <cstdint>
#include <string>
#include <vector>

namespace granary::bench {

struct Machine {
  std::string cpu_model;
  std::uint32_t cpus = 0;  ///< that this process may use
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::string governor;  ///< of the first core; "none" where frequency is not ours to see
  std::string transparent_huge_pages;
  std::string shared_huge_pages;                            ///< the same of shared memory, which a database's memory is
  std::uint64_t huge_pages_total = 0, huge_pages_free = 0;  ///< reserved 2 MiB pages
};

Machine describe_machine();

/// The cores that this process may run on, ascending.
std::vector<int> allowed_cpus();
/// Binds the calling thread to one core; false if the system refuses.
bool pin_to(int cpu);

/// Bytes that can still be taken without swapping, the control group's limit considered.
std::uint64_t available_memory();
/// Bytes of memory that this process uses, reserved 2 MiB pages included.
std::uint64_t resident_bytes();
/// Runnable threads of the machine over the last minute.
double load_average();

}  // namespace granary::bench
