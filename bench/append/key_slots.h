#pragma once
// Hands out the lists to append to and the elements to append, each element once. A slot's list is replaced by one
// under a fresh key after so many appends, so that values stay bounded however long the run.
//
// Each node of a cluster has its own object, for the same slots, and the objects do not communicate. Elements are
// shared out among the nodes, and a node learns from the lists that it reads how far a slot is. A slot's lists all have
// one home, with neighbouring keys.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/append/history/history.h"
#include "bench/harness/key_ranges.h"

namespace granary::bench::append {

class KeySlots {
 public:
  /// Precondition: `slots` is a multiple of the number of nodes.
  KeySlots(std::uint32_t slots, std::uint32_t max_length, const NodeShare& share = {})
      : max_length_(max_length),
        share_(share),
        own_(slots),
        counts_(own_) {}
  /// Uses counts that outlive this process (NodeLives), one for each slot.
  KeySlots(std::span<std::atomic<std::uint64_t>> counts, std::uint32_t max_length, const NodeShare& share)
      : max_length_(max_length),
        share_(share),
        counts_(counts) {}
  KeySlots(const KeySlots&) = delete;
  KeySlots& operator=(const KeySlots&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(counts_.size()); }
  /// Returns the greatest length that a list gets.
  std::uint64_t longest() const { return max_length_ * share_.nodes; }

  struct Append {
    history::Key key;
    history::Element element;
  };
  /// Returns the next append to the slot. No other call returns the same element for that key, on any node.
  Append next(std::uint32_t slot) {
    const std::uint64_t count = counts_[slot].fetch_add(1, std::memory_order_relaxed);
    return {key(slot, count), static_cast<history::Element>(count % max_length_ * share_.nodes + share_.node + 1)};
  }
  /// Returns the key of the slot's present list.
  history::Key current(std::uint32_t slot) const { return key(slot, counts_[slot].load(std::memory_order_relaxed)); }

  /// Notes the length of a list that was read, to which other nodes have appended as well.
  void found(history::Key key, std::size_t length) {
    if (share_.nodes == 1 || length == 0) return;
    const std::uint64_t within = static_cast<std::uint64_t>(key) % kNodeKeys, of_node = size() / share_.nodes;
    std::atomic<std::uint64_t>& count = counts_[within % of_node * share_.nodes + home(key)];
    const std::uint64_t least = within / of_node * max_length_ + std::min<std::uint64_t>(length, max_length_);
    std::uint64_t known = count.load(std::memory_order_relaxed);
    while (known < least && !count.compare_exchange_weak(known, least, std::memory_order_relaxed)) {
    }
  }

  /// Returns every key that was ever handed out or current.
  std::vector<history::Key> all() const {
    std::vector<history::Key> keys;
    for (std::uint32_t slot = 0; slot < size(); ++slot) {
      for (std::uint64_t count = 0; key(slot, count) <= current(slot); count += max_length_)
        keys.push_back(key(slot, count));
    }
    return keys;
  }

  /// Returns the place of the key's node among the nodes.
  static std::uint32_t home(history::Key key) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(key) / kNodeKeys);
  }

 private:
  static constexpr std::uint64_t kNodeKeys = std::uint64_t{1} << 40;

  history::Key key(std::uint32_t slot, std::uint64_t count) const {
    const std::uint64_t home = slot % share_.nodes, number = slot / share_.nodes, of_node = size() / share_.nodes;
    return static_cast<history::Key>(home * kNodeKeys + number + count / max_length_ * of_node);
  }

  const std::uint64_t max_length_;
  const NodeShare share_;
  // How many appends were asked for, as far as this process knows. All workers count up; only uniqueness matters, so
  // relaxed.
  std::vector<std::atomic<std::uint64_t>> own_;
  const std::span<std::atomic<std::uint64_t>> counts_;
};

}  // namespace granary::bench::append
