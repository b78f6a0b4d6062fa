#pragma once
// Keeps ranges of free memory, and joins neighbours. Not thread-safe.

#include <cstddef>
#include <iterator>
#include <map>
#include <new>
#include <utility>

namespace granary::memory {

class FreeRuns {
 public:
  /// Adds a range that overlaps no range of the list. A range without a neighbour there needs memory of the system;
  /// returns false, and adds nothing, if there is none.
  [[nodiscard]] bool add(char* begin, std::size_t bytes) noexcept {
    const auto next = runs_.lower_bound(begin);
    const bool meets_next = next != runs_.end() && begin + bytes == next->first;
    if (next != runs_.begin()) {
      if (const auto before = std::prev(next); before->first + before->second == begin) {
        before->second += bytes;
        if (!meets_next) return true;
        before->second += next->second;
        runs_.erase(next);
        return true;
      }
    }
    if (!meets_next) {
      try {
        runs_.emplace_hint(next, begin, bytes);
        return true;
      } catch (const std::bad_alloc&) {
        return false;
      }
    }
    auto longer = runs_.extract(next);
    longer.key() = begin;
    longer.mapped() += bytes;
    runs_.insert(std::move(longer));
    return true;
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
