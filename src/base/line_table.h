#pragma once
// Tells the simulated HTM (htm/simulator.h) of ordinary loads and stores, in builds with test hooks. In other builds
// every call here vanishes.
//
// Hardware sees each access to a cache line; a simulation sees only those that call this file. A table has one entry
// for the lines whose addresses hash to it: a lock bit and a count of changes. An ordinary store holds its line's entry
// locked meanwhile and counts. A region that commits locks the entries of all lines that it writes, compares the counts
// of those that it has read, stores, and unlocks. So no ordinary store falls between its check and its stores. An
// ordinary load waits while its line is locked, so if it saw one of the region's stores, later loads see all of them.
//
// A line belongs to the machine, so there is one table for the process. It does nothing unless there is a Watch.
//
// Other processes may reach this one's memory by mapping it (rdma/shm). The table lies in a memory file of its own, so
// that they map it, too, and use the entries of this process. So a line has one entry, by its address here, for all
// processes.
//
// A process may be killed while it holds an entry locked, and no thread may wait for it for ever. So a locked entry
// names its holder. This process hears of the death of processes that map its memory, and then breaks their locks
// (Table::break_locks): a dead process stores no more, and its lock counts as a change. No time is involved, so the
// lock of a process that is only slow is never broken. A thread that waits for an entry of another process stops when
// that process has died.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/cache_line.h"
#include "src/base/test_hooks.h"

namespace granary::base::lines {

/// The entry of some lines. Written by the holder of its lock, and by the CAS that takes or breaks the lock. Taking is
/// acquire and pairs with the release of the previous unlock.
///
///   63 ............ 26 | 25 ....... 1 | 0
///   changes so far     | holder       | locked
///
/// The holder's number is there only while the entry is locked.
using Entry = std::atomic<std::uint64_t>;

inline constexpr std::uint64_t kLocked = 1;
inline constexpr unsigned kHolderShift = 1;
inline constexpr unsigned kHolderBits = 25;
inline constexpr std::uint64_t kHolders = ((std::uint64_t{1} << kHolderBits) - 1) << kHolderShift;
inline constexpr std::uint64_t kOneChange = std::uint64_t{1} << (kHolderShift + kHolderBits);
static_assert((kLocked | kHolders) == kOneChange - 1 && (kLocked & kHolders) == 0);

/// The number of a process that may lock entries of another one's table; the table's own process is kOwner.
using Holder = std::uint32_t;
inline constexpr Holder kOwner = 0;

inline constexpr std::size_t kPage = 4096;

/// The entries of all lines of one process.
class alignas(kTestHooks ? kPage : kCacheLine) Table {
 public:
  constexpr Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Returns the entry of the line at this address of the table's process.
  Entry& entry_of(std::uint64_t address) {
    const std::uint64_t line = address / kCacheLine;
    // Neighbouring lines have neighbouring entries, so lines of one object never share one.
    return entries_[(line ^ (line >> kEntryBits)) % entries_.size()];
  }

  /// Counts a store that is about to be made, to any line. The caller has locked the line's entry.
  void count_store() { stores_.fetch_add(1, std::memory_order_acq_rel); }
  /// Returns the count so far. Once a thread has seen the effect of a store, it sees that the store was counted.
  std::uint64_t stores() const { return stores_.load(std::memory_order_acquire); }

  /// Unlocks all entries that a process held which has ended. Acquire and release, in the place of that process.
  void break_locks(Holder ended);

 private:
  static constexpr unsigned kEntryBits = kTestHooks ? 16 : 0;

  // Written by all threads that store, in this process and others; read by this process's regions. A full fence on
  // x86-64.
  alignas(kCacheLine) std::atomic<std::uint64_t> stores_{0};
  alignas(kCacheLine) std::array<Entry, std::size_t{1} << kEntryBits> entries_{};
};

/// Returns this process's table.
Table& own();
/// Returns the memory file in which the table lies, which cannot shrink; -1 before there was a Watch. The table keeps
/// it.
int file_of_own();

/// How many Watch objects there are. Written before the threads start whose accesses are to be seen.
extern std::atomic<std::uint32_t> watchers;

inline bool watched() {
  if constexpr (kTestHooks) {
    return watchers.load(std::memory_order_relaxed) != 0;
  } else {
    return false;
  }
}

/// Makes ordinary accesses of this process go through the table for as long as it lives.
class Watch {
 public:
  Watch();
  ~Watch() { watchers.fetch_sub(1, std::memory_order_relaxed); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

/// Returns the entry of a line of this process.
inline Entry& entry_of(const void* address) { return own().entry_of(reinterpret_cast<std::uintptr_t>(address)); }

/// Locks the entry if it is not locked. Returns its word then, or 0 if it was locked. A full fence on x86-64, as a
/// locked instruction is.
std::uint64_t try_lock(Entry& entry, Holder holder);
/// Unlocks an entry that try_lock() has made `locked`, and counts a change.
inline void unlock(Entry& entry, std::uint64_t locked) {
  entry.store((locked & ~(kLocked | kHolders)) + kOneChange, std::memory_order_release);
}
inline bool is_locked(const Entry& entry) { return (entry.load(std::memory_order_acquire) & kLocked) != 0; }
/// Passes the time between two looks at a locked entry. `turn` counts them from 0.
void pause(std::uint32_t turn);

/// Locks the entry for this process, as soon as no other thread holds it. Returns its word then.
std::uint64_t lock(Entry& entry);
/// Waits until the entry is not locked.
void wait_unlocked(const Entry& entry);

/// An open region implements this to be told of ordinary stores of its thread, which belong to it.
class OwnStores {
 public:
  /// Is called after a store to a line whose count was `changes_before`.
  virtual void stored(const Entry& entry, std::uint64_t changes_before) = 0;

 protected:
  ~OwnStores() = default;
};
inline thread_local OwnStores* own_stores = nullptr;

/// Surrounds one ordinary store (or compare-and-swap) to one line.
class Store {
 public:
  explicit Store([[maybe_unused]] const void* address) {
    if (!watched()) return;
    entry_ = &entry_of(address);
    locked_ = lock(*entry_);
    own().count_store();
  }
  ~Store() {
    if constexpr (kTestHooks) {
      if (entry_ == nullptr) return;
      unlock(*entry_, locked_);
      if (own_stores != nullptr) own_stores->stored(*entry_, locked_ & ~(kLocked | kHolders));
    }
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

 private:
  Entry* entry_ = nullptr;
  std::uint64_t locked_ = 0;
};

/// Precedes an ordinary load.
inline void before_load([[maybe_unused]] const void* address) {
  if (watched()) [[unlikely]]
    wait_unlocked(entry_of(address));
}

}  // namespace granary::base::lines
