#pragma once
// Keys that transactions declared to read and then wrote: their own leases, which others may share, kept them from the x-locks, and
// no attempt could ever commit that did the same. So the next attempts x-lock these keys from the start. A worker's: an attempt may
// be made by another of its contexts than the one before.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace granary::cluster {

class ReadThenWritten {
 public:
  /// By AccessTable::hash(). Another key that has the same is locked for nothing.
  bool has(std::uint64_t key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }
  void add(std::uint64_t key) {
    if (has(key)) return;
    if (keys_.size() == kMost) keys_.erase(keys_.begin());  // most likely of a transaction that was given up
    keys_.push_back(key);
  }
  void remove(std::uint64_t key) { std::erase(keys_, key); }
  bool empty() const { return keys_.empty(); }

 private:
  static constexpr std::size_t kMost = 64;

  std::vector<std::uint64_t> keys_;
};

}  // namespace granary::cluster
