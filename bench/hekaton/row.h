#pragma once
// A row of Hekaton (Larson et al., VLDB 2011) as a baseline: its last few versions in one place, each with the time
// from which and until which it is the latest. It lies in the value of a bare record, so that index and memory are
// those of the engine.
//
// All of it is read and written under the row's latch. A row keeps kVersions versions: who needs an older one aborts.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "bench/hekaton/timestamps.h"
#include "src/base/cache_line.h"

namespace granary::bench::hekaton {

/// The end of the latest version; or whose transaction is about to end it: a session's number with kMark.
inline constexpr Timestamp kForever = ~Timestamp{0};
inline constexpr Timestamp kMark = Timestamp{1} << 63;
constexpr bool is_marked(Timestamp end) { return end != kForever && (end & kMark) != 0; }
constexpr std::uint32_t marker(Timestamp end) { return static_cast<std::uint32_t>(end & ~kMark); }

struct Version {
  Timestamp begin = 0;
  Timestamp end = kForever;
};

class Row {
 public:
  static constexpr std::uint32_t kVersions = 4;

  static std::size_t bytes_for(std::size_t value_bytes) { return sizeof(Row) + kVersions * padded(value_bytes); }
  /// Makes a row with one version, valid from the beginning, in memory of bytes_for() bytes.
  static void make(std::span<char> memory, std::string_view value) {
    std::memset(memory.data(), 0, memory.size());
    Row& row = *new (memory.data()) Row;
    std::memcpy(row.value(0, value.size()), value.data(), value.size());
  }

  void latch() {
    while (latch_.exchange(1, std::memory_order_acquire) != 0) {
      while (latch_.load(std::memory_order_relaxed) != 0) base::spin_pause();
    }
  }
  void unlatch() { latch_.store(0, std::memory_order_release); }

  // Under the latch.
  std::uint32_t newest() const { return newest_; }
  Version& version(std::uint32_t slot) { return versions_[slot]; }
  /// Returns the slot of the version that was the latest at the time, or kVersions if it is not kept any more.
  std::uint32_t slot_at(Timestamp time) const {
    for (std::uint32_t age = 0; age < kVersions; ++age) {
      const std::uint32_t slot = (newest_ + kVersions - age) % kVersions;
      if (versions_[slot].begin <= time && (age == 0 || versions_[slot].end > time)) return slot;
      if (versions_[slot].begin == 0) break;  // there was none before
    }
    return kVersions;
  }
  char* value(std::uint32_t slot, std::size_t value_bytes) {
    return reinterpret_cast<char*>(this + 1) + slot * padded(value_bytes);
  }
  const char* newest_value(std::size_t value_bytes) const {
    return reinterpret_cast<const char*>(this + 1) + newest_ * padded(value_bytes);
  }
  /// Puts a version in the place of the oldest one.
  void add(Timestamp from, std::string_view value_of_it) {
    versions_[newest_].end = from;
    newest_ = (newest_ + 1) % kVersions;
    versions_[newest_] = {.begin = from};
    std::memcpy(value(newest_, value_of_it.size()), value_of_it.data(), value_of_it.size());
  }

 private:
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

  std::atomic<std::uint32_t> latch_{0};  // 1 while a thread reads or changes the row
  std::uint32_t newest_ = 0;
  Version versions_[kVersions] = {};
};

}  // namespace granary::bench::hekaton
