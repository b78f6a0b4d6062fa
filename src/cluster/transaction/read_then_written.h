#pragma once
// Remembers keys that transactions of a worker declared to read and then wrote (lease_2pl). Such a transaction's own
// lease, which others may share, keeps it from the x-lock, and each further attempt would fail in the same way. So the
// next attempts x-lock these keys from the start (declared_keys.cc). The worker keeps the list, since the next attempt
// may run in another of its contexts.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace granary::cluster {

class ReadThenWritten {
 public:
  /// `key` is AccessTable::hash(). Another key with the same hash is x-locked without need.
  bool has(std::uint64_t key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }
  void add(std::uint64_t key) {
    if (has(key)) return;
    if (keys_.size() == kMost)
      keys_.erase(keys_.begin());  // the oldest, most likely of a transaction that was given up
    keys_.push_back(key);
  }
  void remove(std::uint64_t key) { std::erase(keys_, key); }
  bool empty() const { return keys_.empty(); }

 private:
  static constexpr std::size_t kMost = 64;

  std::vector<std::uint64_t> keys_;
};

}  // namespace granary::cluster
