#include "src/base/line_table.h"

#include <array>
#include <thread>

#include "src/base/cache_line.h"

namespace granary::base::lines {
namespace {

constexpr unsigned kEntryBits = kTestHooks ? 16 : 0;
constinit std::array<Entry, std::size_t{1} << kEntryBits> table{};

void pause(std::uint32_t turn) {
  constexpr std::uint32_t kSpins = 64;
  if (turn < kSpins) {
    spin_pause();
  } else {
    std::this_thread::yield();  // the holder may be waiting for the processor
  }
}

}  // namespace

constinit std::atomic<std::uint32_t> watchers{0};

Entry& entry_of(const void* address) {
  const std::uint64_t line = reinterpret_cast<std::uintptr_t>(address) / kCacheLine;
  // Lines that lie together have entries that lie together: those of one object never share one.
  return table[(line ^ (line >> kEntryBits)) % table.size()];
}

void lock(Entry& entry) {
  for (std::uint32_t turn = 0;; pause(turn++)) {
    std::uint64_t seen = entry.load(std::memory_order_relaxed);
    if ((seen & kLocked) == 0 && entry.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acq_rel)) return;
  }
}

void wait_unlocked(const Entry& entry) {
  for (std::uint32_t turn = 0; (entry.load(std::memory_order_acquire) & kLocked) != 0; ++turn) pause(turn);
}

}  // namespace granary::base::lines
