#pragma once
// Foretells whether a whole transaction is worth a region. One that touches more than the processor's cache holds
// aborts late, and all of its work was in vain, while a transaction with the same body has probably the same size.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace granary::htm {

/// One thread's. Bodies are told apart by an address, such as that of their code; some share an entry, which costs
/// speed only.
class Forecast {
 public:
  /// Whether to open a region for this body. After failures it says no for a while, and then yes once, as work changes.
  bool is_worth_it(const void* body) {
    Entry& entry = entry_of(body);
    if (entry.left_out == 0) return true;
    --entry.left_out;
    return false;
  }
  void has_committed(const void* body) { entry_of(body).after_failure /= 2; }
  /// The region was opened, and the other way had to be taken.
  void was_in_vain(const void* body) {
    Entry& entry = entry_of(body);
    entry.after_failure = std::min(2 * entry.after_failure + 1, kMostLeftOut);
    entry.left_out = entry.after_failure;
  }

 private:
  static constexpr std::uint32_t kMostLeftOut = 63;  ///< A body that never fits is tried once in 64 times then.
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    std::uint32_t left_out = 0;       ///< so many regions are still to be left out
    std::uint32_t after_failure = 0;  ///< so many were left out after the last failure
  };

  Entry& entry_of(const void* body) { return entries_[(reinterpret_cast<std::uintptr_t>(body) >> 4) % kEntries]; }

  std::array<Entry, kEntries> entries_{};
};

}  // namespace granary::htm
