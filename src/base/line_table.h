#pragma once
// What the simulated HTM (htm/simulator.h) knows of ordinary loads and stores, in builds with test hooks. In other builds
// every call here vanishes.
//
// Hardware sees each access to a cache line; a simulation sees those that ask here. A table has one entry for the lines
// whose addresses hash to it: a lock bit and a count of changes. An ordinary store holds its line's entry locked
// meanwhile and counts. A region that commits locks the entries of all lines that it writes, compares the counts of
// those that it has read, stores, and unlocks. So no ordinary store falls between its check and its stores, and an
// ordinary load, which waits while its line is locked, that saw one of its stores sees all of them from then on.
//
// Lines are the machine's, hence one table for the process. It does nothing until somebody watches.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/test_hooks.h"

namespace granary::base::lines {

/// Bit 0: locked; above it: changes so far. Written by whoever holds the lock, and by the CAS that takes it.
using Entry = std::atomic<std::uint64_t>;

inline constexpr std::uint64_t kLocked = 1;
inline constexpr std::uint64_t kOneChange = 2;

/// How many watch. Written before the threads start whose accesses are to be seen.
extern std::atomic<std::uint32_t> watchers;

inline bool watched() {
  if constexpr (kTestHooks) {
    return watchers.load(std::memory_order_relaxed) != 0;
  } else {
    return false;
  }
}

/// While one lives, ordinary accesses of this process go through the table.
class Watch {
 public:
  Watch() { watchers.fetch_add(1, std::memory_order_relaxed); }
  ~Watch() { watchers.fetch_sub(1, std::memory_order_relaxed); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

Entry& entry_of(const void* address);
/// Waits for the lock. A full fence on x86-64, as a locked instruction is.
void lock(Entry& entry);
/// Waits until nobody holds it.
void wait_unlocked(const Entry& entry);

/// Surrounds one ordinary store (or compare-and-swap) to one line.
class Store {
 public:
  explicit Store([[maybe_unused]] const void* address) {
    if (!watched()) return;
    entry_ = &entry_of(address);
    lock(*entry_);
  }
  ~Store() {
    if constexpr (kTestHooks) {
      if (entry_ != nullptr) entry_->fetch_add(kOneChange - kLocked, std::memory_order_release);
    }
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

 private:
  Entry* entry_ = nullptr;
};

/// Precedes an ordinary load.
inline void before_load([[maybe_unused]] const void* address) {
  if (watched()) [[unlikely]]
    wait_unlocked(entry_of(address));
}

}  // namespace granary::base::lines
