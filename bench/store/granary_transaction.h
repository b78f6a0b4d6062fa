#pragma once
// A Store's operations on the engine's transactions and snapshots, of one database or of a cluster.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <granary/granary.h>

#include "bench/store/store.h"

namespace granary::bench::store {

/// The operations that read, for both Transaction and Snapshot.
template <typename Handle>
class GranaryReader {
 public:
  explicit GranaryReader(Handle& handle) : handle_(handle) {}

  /// Whether a row could not be read because another node held it. Only for a snapshot, as a transaction aborts.
  bool met_holder() const { return met_holder_; }

  template <typename K, typename V>
  Outcome get(const TypedTable<K, V>& table, const K& key, V& row) {
    return note(handle_.get(static_cast<const granary::Table&>(table), encode_key(key), buffer_of(row)).outcome);
  }

  template <typename... Lookups>
  Outcome multi_get(std::span<Lookups>... lookups) {
    if ((std::size_t{0} + ... + lookups.size()) > kBatch) return get_in_batches(lookups...);
    std::array<KeyBytes, kBatch> keys;
    // Only the objects that are needed are made: to make all of them empty first takes two percent of a new-order.
    static_assert(std::is_trivially_destructible_v<MultiGet>);
    alignas(MultiGet) std::array<std::byte, kBatch * sizeof(MultiGet)> room;
    auto* const gets = reinterpret_cast<MultiGet*>(room.data());
    std::size_t count = 0;
    const auto prepare = [&](auto& lookup) {
      new (gets + count)
          MultiGet{lookup.table, encode(lookup.key, keys[count]), buffer_of(*lookup.row), {}, lookup.write};
      ++count;
    };
    (std::for_each(lookups.begin(), lookups.end(), prepare), ...);
    Outcome outcome = handle_.multi_get(std::span(gets, count));
    if (outcome != Outcome::kOk) return outcome;
    const MultiGet* get = gets;
    const auto take = [&](auto& lookup) {
      const Outcome got = (get++)->result.outcome;
      lookup.found = got == Outcome::kOk;
      if (!lookup.found && got != Outcome::kNotFound) [[unlikely]]
        outcome = got;
    };
    (std::for_each(lookups.begin(), lookups.end(), take), ...);
    return note(outcome);
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const TypedTable<K, V>& table, const K& from, const K& to, Visit&& visit) {
    return note(handle_.scan(table, from, to, std::forward<Visit>(visit)).outcome);
  }

  template <typename K, typename V>
  Outcome first(const TypedTable<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, Order::kAscending);
  }
  template <typename K, typename V>
  Outcome last(const TypedTable<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, Order::kDescending);
  }

 protected:
  using KeyBytes = std::array<char, 16>;

  template <typename V>
  static std::span<char> buffer_of(V& row) {
    return {reinterpret_cast<char*>(&row), sizeof row};
  }
  /// Returns the bytes of the key, which lie in `room`.
  template <typename K>
  static std::string_view encode(const K& value, KeyBytes& room) {
    const EncodedKey key(value);
    static_assert(sizeof key <= sizeof room + sizeof(std::size_t), "keys here are short");
    std::memcpy(room.data(), key.view().data(), key.view().size());
    return {room.data(), key.view().size()};
  }
  Outcome note(Outcome outcome) {
    if (outcome == Outcome::kBusy) [[unlikely]]
      met_holder_ = true;
    return outcome;
  }

  template <typename K, typename V>
  Outcome end_of(const TypedTable<K, V>& table, const K& from, const K& to, K& key, V& row, Order order) {
    const auto take = [&](const K& found_key, const V& found_row) {
      key = found_key;
      row = found_row;
      return false;
    };
    const ScanResult result = handle_.scan(table, from, to, take, order, 1);
    if (result.outcome != Outcome::kOk) return note(result.outcome);
    return result.count == 0 ? Outcome::kNotFound : Outcome::kOk;
  }

  static constexpr std::size_t kBatch = 64;

  template <typename... Lookups>
  Outcome get_in_batches(std::span<Lookups>... lookups) {
    Outcome outcome = Outcome::kOk;
    const auto get_all = [&](auto rest) {
      while (outcome == Outcome::kOk && !rest.empty()) {
        const std::size_t count = std::min(kBatch, rest.size());
        outcome = multi_get(rest.first(count));
        rest = rest.subspan(count);
      }
    };
    (get_all(lookups), ...);
    return outcome;
  }

  Handle& handle_;
  bool met_holder_ = false;
};

class GranaryTransaction : public GranaryReader<granary::Transaction> {
 public:
  /// If `declares`, rows that are read in one go are declared first (lease_2pl, drtm).
  explicit GranaryTransaction(granary::Transaction& handle, bool declares = false)
      : GranaryReader(handle),
        declares_(declares) {}

  template <typename... Lookups>
  Outcome multi_get(std::span<Lookups>... lookups) {
    const Outcome declared = declares_ ? declare(lookups...) : Outcome::kOk;
    return declared == Outcome::kOk ? GranaryReader::multi_get(lookups...) : declared;
  }

  template <typename K, typename V>
  Outcome get_to_write(const TypedTable<K, V>& table, const K& key, V& row) {
    const EncodedKey encoded(key);
    if (declares_) {
      const Declared declared{table, encoded, true};
      const Outcome outcome = handle_.declare({&declared, 1});
      if (outcome != Outcome::kOk) return outcome;
    }
    return note(handle_.get_to_write(static_cast<const granary::Table&>(table), encoded, buffer_of(row)).outcome);
  }

  template <typename K, typename V>
  Outcome insert(const TypedTable<K, V>& table, const K& key, const V& row) {
    return handle_.insert(table, key, row);
  }
  /// Writes a row that is in the read set. Its presence is validated, so a put need not look again.
  template <typename K, typename V>
  Outcome overwrite(const TypedTable<K, V>& table, const K& key, const V& row) {
    return handle_.put(table, key, row);
  }
  template <typename K, typename V>
  Outcome remove(const TypedTable<K, V>& table, const K& key) {
    return handle_.remove(table, key);
  }

 private:
  /// Declares the rows. Takes no memory from the heap for as many keys as the benchmarks have.
  template <typename... Lookups>
  Outcome declare(std::span<Lookups>... lookups) {
    constexpr std::size_t kUsual = 64;
    alignas(Declared) std::array<std::byte, kUsual * (sizeof(Declared) + sizeof(KeyBytes))> room;
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    const std::size_t count = (std::size_t{0} + ... + lookups.size());
    std::pmr::vector<KeyBytes> keys(count, &memory);
    std::pmr::vector<Declared> declared(&memory);
    declared.reserve(count);
    const auto add = [&](const auto& lookup) {
      declared.push_back({lookup.table, encode(lookup.key, keys[declared.size()]), lookup.write});
    };
    (std::for_each(lookups.begin(), lookups.end(), add), ...);
    return handle_.declare(declared);
  }

  const bool declares_;
};

}  // namespace granary::bench::store
