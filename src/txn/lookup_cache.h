#pragma once
// Remembers the records of keys that a transaction has just looked up, so that "get, then put" searches the index once.
//
// It has keys of at most eight bytes only, which are compared whole. An entry says which record a key had, and nothing
// of the record's state: its user tests the record's latest bit, as after a search. Entries are valid while the
// transaction's epoch slot stays entered, since a record that leaves its index meanwhile is not freed.

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

  /// Returns the remembered record of this key, or nullptr, which the caller replaces when it has found the record. The
  /// reference is valid until the next call.
  record::Record*& remembered(const cc::Index& index, std::string_view key) {
    if (key.size() > kMaxKey) return forgotten_ = nullptr;
    const std::uint64_t bits = bits_of(key);
    Entry& entry = entries_[slot(index, bits)];
    const std::uint64_t life = generation_ << kSizeBits | key.size();
    if (entry.bits != bits || entry.life != life || entry.index != &index) entry = {&index, bits, nullptr, life};
    return entry.record;
  }

 private:
  static constexpr std::size_t kEntries = 128;
  struct Entry {
    const cc::Index* index = nullptr;
    std::uint64_t bits = 0;
    record::Record* record = nullptr;
    std::uint64_t life = 0;  ///< the generation, and in the lowest bits the key's size
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

  static constexpr unsigned kSizeBits = 4;
  static_assert(kMaxKey < std::size_t{1} << kSizeBits);

  std::uint64_t generation_ = 1;  // of 60 bits, so it does not come back
  std::array<Entry, kEntries> entries_{};
  record::Record* forgotten_ = nullptr;  // stands for the record of every key that is too long
};

/// Remembers where a transaction last inserted into each of a few tables, so that a run of neighbouring keys searches
/// the tree once. Valid while the transaction's epoch slot stays entered.
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
