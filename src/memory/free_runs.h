#pragma once
// Keeps ranges of free memory, and joins neighbours. Not thread-safe.

#include <cstddef>
#include <iterator>
#include <map>

namespace granary::memory {

class FreeRuns {
 public:
  /// Adds a range that overlaps no range of the list.
  void add(char* begin, std::size_t bytes) {
    auto next = runs_.lower_bound(begin);
    if (next != runs_.end() && begin + bytes == next->first) {
      bytes += next->second;
      next = runs_.erase(next);
    }
    if (next != runs_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == begin) {
        before->second += bytes;
        return;
      }
    }
    runs_.emplace_hint(next, begin, bytes);
  }

  /// Cuts `bytes` off the smallest range that has so many. Returns nullptr if there is none.
  char* take(std::size_t bytes) {
    auto best = runs_.end();
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      if (run->second >= bytes && (best == runs_.end() || run->second < best->second)) best = run;
      if (best != runs_.end() && best->second == bytes) break;
    }
    if (best == runs_.end()) return nullptr;
    char* const end = best->first + best->second;
    best->second -= bytes;
    if (best->second == 0) runs_.erase(best);
    return end - bytes;
  }

 private:
  std::map<char*, std::size_t> runs_;  // begin → length
};

}  // namespace granary::memory
