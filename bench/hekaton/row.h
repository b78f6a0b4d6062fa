#pragma once
// A row of Hekaton (Larson et al., VLDB 2011) as a baseline: its last few versions in one place, each with the times
// from which and until which it is the latest. It lies in the value of a bare record, so that index and memory are
// those of the engine.
//
// Transactions read and write all of it under the row's latch. A row keeps as many versions as it was made for, and a
// transaction that needs an older one aborts. A version may say that there is no row: the first one of a row that is
// about to be inserted, or the last one of a row that was removed.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>

#include "bench/hekaton/timestamps.h"
#include "src/base/cache_line.h"

namespace granary::bench::hekaton {

/// The end of the latest version is kForever. If a transaction is about to end it, it is kMark with the number of that
/// transaction's session.
inline constexpr Timestamp kForever = ~Timestamp{0};
inline constexpr Timestamp kMark = Timestamp{1} << 63;
constexpr bool is_marked(Timestamp end) { return end != kForever && (end & kMark) != 0; }
constexpr std::uint32_t marker(Timestamp end) { return static_cast<std::uint32_t>(end & ~kMark); }

struct Version {
  /// The beginning of a version that there never was: no transaction has a later time.
  static constexpr Timestamp kNever = kMark - 1;

  Timestamp begin : 63 = kNever;
  Timestamp absent : 1 = 0;  ///< whether the version says that there is no row
  Timestamp end = kForever;
};

class Row {
 public:
  /// How many versions a row keeps that transactions overwrite.
  static constexpr std::uint32_t kVersions = 4;

  static std::size_t bytes_for(std::size_t value_bytes, std::uint32_t versions = kVersions) {
    return sizeof(Row) + versions * (sizeof(Version) + padded(value_bytes));
  }
  /// Makes a row with one version, valid from the beginning, in memory of bytes_for() bytes.
  static void make(std::span<char> memory, std::string_view value) {
    Row& row = *new (memory.data()) Row(value.size(), kVersions);
    row.version(0).begin = 0;
    std::memcpy(row.value(0), value.data(), value.size());
  }
  /// Makes a row that is not there, in memory of bytes_for() bytes. `versions`: a power of two.
  static void make_absent(std::span<char> memory, std::size_t value_bytes, std::uint32_t versions) {
    Version& first = (new (memory.data()) Row(value_bytes, versions))->version(0);
    first.begin = 0;
    first.absent = 1;
  }

  /// Waits for the latch and takes it. Acquire: its holder sees all that former holders stored before they released it.
  void latch() {
    while (latch_.exchange(1, std::memory_order_acquire) != 0) {
      while (latch_.load(std::memory_order_relaxed) != 0) base::spin_pause();
    }
  }
  void unlatch() { latch_.store(0, std::memory_order_release); }

  std::size_t value_bytes() const { return value_bytes_; }

  // The caller holds the latch for these; newest_value() may also be called when no transaction runs.
  std::uint32_t newest() const { return newest_; }
  Version& version(std::uint32_t slot) { return versions()[slot]; }
  /// Returns the slot of the version that was the latest at the time, or nothing if it is not kept any more.
  std::optional<std::uint32_t> slot_at(Timestamp time) {
    for (std::uint32_t age = 0; age < kept_; ++age) {
      const std::uint32_t slot = (newest_ - age) & (kept_ - 1);
      const Version& found = versions()[slot];
      if (found.begin <= time && (age == 0 || found.end > time)) return slot;
    }
    return std::nullopt;
  }
  char* value(std::uint32_t slot) { return reinterpret_cast<char*>(versions() + kept_) + slot * padded(value_bytes_); }
  /// Returns the latest value, or nullptr if there is none. Precondition: no transaction writes the row any more.
  const char* sealed_value() { return version(newest_).absent != 0 ? nullptr : value(newest_); }
  /// Returns the latest value. Precondition: there is one.
  const char* newest_value(std::size_t) const { return const_cast<Row*>(this)->value(newest_); }
  /// Puts a version in the place of the oldest one. Without a value it says that there is no row.
  void add(Timestamp from, std::optional<std::string_view> value_of_it) {
    version(newest_).end = from;
    newest_ = (newest_ + 1) & (kept_ - 1);
    Version& added = version(newest_);
    added.begin = from;
    added.absent = value_of_it ? 0 : 1;
    added.end = kForever;
    if (value_of_it) std::memcpy(value(newest_), value_of_it->data(), value_of_it->size());
  }

 private:
  Row(std::size_t value_bytes, std::uint32_t versions)
      : value_bytes_(static_cast<std::uint32_t>(value_bytes)),
        kept_(versions) {
    for (std::uint32_t slot = 0; slot < kept_; ++slot) new (this->versions() + slot) Version;
  }
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
  /// The versions lie behind the row, and their values behind them.
  Version* versions() { return reinterpret_cast<Version*>(this + 1); }

  std::atomic<std::uint32_t> latch_{0};  // 1 while a thread holds the latch; all threads write and read it
  std::uint32_t newest_ = 0;
  const std::uint32_t value_bytes_, kept_;
};
static_assert(sizeof(Row) % alignof(Version) == 0);

}  // namespace granary::bench::hekaton
