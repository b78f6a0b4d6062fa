#pragma once
// Describes the machine that the benchmark runs on, and its other load.

#include <cstdint>
#include <string>
#include <vector>

namespace granary::bench {

struct Machine {
  std::string cpu_model;
  std::uint32_t cpus = 0;  ///< processors that this process may use
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::string governor;  ///< the governor of the first core; "none" where frequency cannot be seen
  std::string transparent_huge_pages;
  std::string shared_huge_pages;  ///< the same for shared memory, which a database's memory is
  std::uint64_t huge_pages_total = 0, huge_pages_free = 0;  ///< reserved 2 MiB pages
};

Machine describe_machine();

/// Returns the cores that this process may run on, in ascending order.
std::vector<int> allowed_cpus();
/// Binds the calling thread to one core; returns false if the system refuses.
bool pin_to(int cpu);

/// Returns how many bytes can still be taken without swapping, within the control group's limit.
std::uint64_t available_memory();
/// Returns how many bytes of memory this process uses, reserved 2 MiB pages included.
std::uint64_t resident_bytes();
/// Returns the number of runnable threads of the machine over the last minute.
double load_average();

}  // namespace granary::bench
