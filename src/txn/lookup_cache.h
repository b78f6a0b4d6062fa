#pragma once
// Remembers where the keys that a transaction just looked up are, so that "get, then put" searches the index
// once. Only keys of at most eight bytes, which are compared whole. Entries are hints about records, not
// about their state: users test the record's `latest` bit as after a descent. Valid while the transaction's epoch slot stays entered.

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "src/cc/index.h"
#include "src/record/record.h"

namespace granary::txn {

class LookupCache {
 public:
  static constexpr std::size_t kMaxKey = 8;

  /// Forgets everything.
  void clear() { ++generation_; }

  /// The place where this key's record is remembered: the record, or nullptr, which the caller replaces once it
  /// knows better. Good until the next call.
  record::Record*& place(const cc::Index& index, std::string_view key) {
    if (key.size() > kMaxKey) return forgotten_ = nullptr;
    const std::uint64_t bits = bits_of(key);
    Entry& entry = entries_[slot(index, bits)];
    const bool same =
        entry.bits == bits && entry.generation == generation_ && entry.index == &index && entry.size == key.size();
    if (!same) entry = {&index, bits, nullptr, generation_, static_cast<std::uint32_t>(key.size())};
    return entry.record;
  }

 private:
  static constexpr std::size_t kEntries = 128;
  struct Entry {
    const cc::Index* index = nullptr;
    std::uint64_t bits = 0;
    record::Record* record = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t size = 0;
  };

  static std::uint64_t bits_of(std::string_view key) {
    std::uint64_t bits = 0;
    if (key.size() == kMaxKey) [[likely]] {
      std::memcpy(&bits, key.data(), kMaxKey);
    } else {
      std::memcpy(&bits, key.data(), key.size());
    }
    return bits;
  }
  static std::size_t slot(const cc::Index& index, std::uint64_t bits) {
    return ((bits ^ reinterpret_cast<std::uintptr_t>(&index)) * 0x9E3779B97F4A7C15ull) >> (64 - 7);
  }
  static_assert(kEntries == std::size_t{1} << 7);

  std::uint32_t generation_ =
      1;  // wraps after 2^32 transactions of one context; then a stale hint needs all fields equal, too
  std::array<Entry, kEntries> entries_{};
  record::Record* forgotten_ = nullptr;  // the place of all long keys
};

/// Where a transaction last inserted into each of a few tables, so that a run of neighbouring keys descends once. Valid while
/// its epoch slot stays entered.
class InsertHints {
 public:
  void clear() { ++generation_; }
  kvstore::ordered::LeafHint* of(std::uint32_t table) {
    Entry& entry = entries_[table % kEntries];
    if (entry.table != table || entry.generation != generation_) entry = {table, generation_, {}};
    return &entry.hint;
  }

 private:
  static constexpr std::size_t kEntries = 16;
  struct Entry {
    std::uint32_t table = 0;
    std::uint64_t generation = 0;
    kvstore::ordered::LeafHint hint;
  };
  std::uint64_t generation_ = 1;
  std::array<Entry, kEntries> entries_{};
};

}  // namespace granary::txn
