#pragma once
// Tells a process from the children that it forks. A child has a copy of its parent's memory, but none of its threads
// except the one that has forked, and shares its parent's files and shared mappings. So an object with threads, files
// or shared memory belongs to its parent alone, and has a mark to know that by.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include <granary/status.h>

#include "src/base/cache_line.h"

namespace granary::base {

/// Counts the forks between the process that loaded the library and this one. Written in the child of a fork, while it
/// has one thread; read by all threads, relaxed, since the others begin later.
struct alignas(kCacheLine) ForkCount {
  std::atomic<std::uint64_t> value{0};
};
inline constinit ForkCount fork_count;

/// Remembers the process in which it was made. Thread-safe.
class ProcessMark {
 public:
  /// Whether this is the process in which the mark was made. It is false in its children and theirs.
  bool is_of_this_process() const { return fork_count.value.load(std::memory_order_relaxed) == forks_; }

 private:
  const std::uint64_t forks_ = fork_count.value.load(std::memory_order_relaxed);
};

/// Returns kFailedPrecondition, with what the other process did: "opened the database".
Status used_in_fork(std::string_view deed);

/// Keeps an object that must not be destroyed in this process, since its threads and files are the parent's.
/// Thread-safe.
void keep_for_good(std::shared_ptr<void> inherited);

}  // namespace granary::base
