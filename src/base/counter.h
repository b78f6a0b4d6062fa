#pragma once
// Counts with plain adds, for counters that one thread writes and others read for statistics.

#include <atomic>
#include <type_traits>

namespace granary::base {

/// Adds to a counter that only one thread writes. It compiles to a plain add.
template <typename T>
void bump(std::atomic<T>& counter, std::type_identity_t<T> by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace granary::base
