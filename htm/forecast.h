#pragma once
// Foretells whether a whole transaction is worth a region. A transaction that touches more than the processor's cache
// holds aborts late, and all work of its region is lost. A transaction with the same body probably has the same size.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace granary::htm {

/// The forecast of one thread. Bodies are told apart by an address, such as that of their code. Some of them share an
/// entry, which costs only speed.
class Forecast {
 public:
  /// Whether to open a region for this body. After failures it says no for a while, and then yes once, since the work
  /// of a body may change.
  bool is_worth_it(const void* body) {
    Entry& entry = entry_of(body);
    if (entry.left_out == 0) return true;
    --entry.left_out;
    return false;
  }
  void has_committed(const void* body) { entry_of(body).after_failure /= 2; }
  /// Notes that the region was opened, and that the transaction had to go on with locks.
  void was_in_vain(const void* body) {
    Entry& entry = entry_of(body);
    entry.after_failure = std::min(2 * entry.after_failure + 1, kMostLeftOut);
    entry.left_out = entry.after_failure;
  }

 private:
  static constexpr std::uint32_t kMostLeftOut = 63;  ///< A body that never fits is tried once in 64 times then.
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    std::uint32_t left_out = 0;       ///< how many regions are still to be left out
    std::uint32_t after_failure = 0;  ///< how many were left out after the last failure
  };

  Entry& entry_of(const void* body) { return entries_[(reinterpret_cast<std::uintptr_t>(body) >> 4) % kEntries]; }

  std::array<Entry, kEntries> entries_{};
};

}  // namespace granary::htm
