#pragma once
// Hands out the lists to append to and the elements to append, each element once. A slot's list is replaced by one
// under a fresh key after so many appends, so that values stay bounded however long the run.

#include <atomic>
#include <cstdint>
#include <vector>

#include "bench/append/history/history.h"

namespace granary::bench::append {

class KeySlots {
 public:
  KeySlots(std::uint32_t slots, std::uint32_t max_length) : max_length_(max_length), counts_(slots) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(counts_.size()); }

  struct Append {
    history::Key key;
    history::Element element;
  };
  /// Fresh: no other call returns the same element for that key.
  Append next(std::uint32_t slot) {
    const std::uint64_t count = counts_[slot].fetch_add(1, std::memory_order_relaxed);
    return {key(slot, count), static_cast<history::Element>(count % max_length_ + 1)};
  }
  /// The slot's present list.
  history::Key current(std::uint32_t slot) const { return key(slot, counts_[slot].load(std::memory_order_relaxed)); }

  /// Every key that was ever handed out or current.
  std::vector<history::Key> all() const {
    std::vector<history::Key> keys;
    for (std::uint32_t slot = 0; slot < size(); ++slot) {
      for (history::Key one = slot; one <= current(slot); one += size()) keys.push_back(one);
    }
    return keys;
  }

 private:
  history::Key key(std::uint32_t slot, std::uint64_t count) const {
    return static_cast<history::Key>(slot + count / max_length_ * counts_.size());
  }

  const std::uint64_t max_length_;
  // Appends asked for so far. All workers count up; only uniqueness matters, so relaxed.
  std::vector<std::atomic<std::uint64_t>> counts_;
};

}  // namespace granary::bench::append
