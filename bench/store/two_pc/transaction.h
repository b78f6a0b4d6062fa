#pragma once
// A transaction of the baseline on typed tables. It has the operations of the Store concept, and runs them by a
// Coordinator.

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <granary/outcome.h>

#include "bench/store/store.h"
#include "bench/store/two_pc/coordinator.h"

namespace granary::bench::two_pc {

template <typename K, typename V>
struct Table {
  static_assert(sizeof(K) == sizeof(std::uint64_t) && std::is_trivially_copyable_v<V>, "keys are 64-bit words");
  std::shared_ptr<const TableEntry> entry;
};

class Transaction {
 public:
  explicit Transaction(Coordinator& coordinator) : coordinator_(coordinator) {}

  template <typename K, typename V>
  Outcome get(const Table<K, V>& table, const K& key, V& row) {
    return get_one(table, key, row, /*write=*/false);
  }
  template <typename K, typename V>
  Outcome get_to_write(const Table<K, V>& table, const K& key, V& row) {
    return get_one(table, key, row, /*write=*/true);
  }

  template <typename... Lookups>
  Outcome multi_get(std::span<Lookups>... lookups) {
    std::vector<Get> gets;
    gets.reserve((std::size_t{0} + ... + lookups.size()));
    const auto add = [&](auto& lookup) {
      gets.push_back(get_of(lookup.table, lookup.key, *lookup.row, lookup.found, lookup.write));
    };
    (std::for_each(lookups.begin(), lookups.end(), add), ...);
    return coordinator_.get(gets) ? Outcome::kOk : Outcome::kAborted;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const Table<K, V>& table, const K& from, const K& to, Visit&& visit) {
    return scan_range<K, V>(table, range_of(from, to), visit);
  }
  template <typename K, typename V>
  Outcome first(const Table<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, range_of(from, to), key, row);
  }
  template <typename K, typename V>
  Outcome last(const Table<K, V>& table, const K& from, const K& to, K& key, V& row) {
    Range backwards = range_of(from, to);
    backwards.backwards = 1;
    return end_of(table, backwards, key, row);
  }

  /// Inserts a row. The commit checks that the key is absent.
  template <typename K, typename V>
  Outcome insert(const Table<K, V>& table, const K& key, const V& row) {
    return write(table, key, Write::Kind::kInsert, bytes_of(row));
  }
  template <typename K, typename V>
  Outcome overwrite(const Table<K, V>& table, const K& key, const V& row) {
    return write(table, key, Write::Kind::kUpdate, bytes_of(row));
  }
  /// Removes a row. The commit checks that it is there.
  template <typename K, typename V>
  Outcome remove(const Table<K, V>& table, const K& key) {
    return write(table, key, Write::Kind::kRemove, {});
  }

 private:
  template <typename K, typename V>
  Outcome get_one(const Table<K, V>& table, const K& key, V& row, bool write) {
    bool found = false;
    const Get wanted = get_of(table, key, row, found, write);
    if (!coordinator_.get({&wanted, 1})) return Outcome::kAborted;
    return found ? Outcome::kOk : Outcome::kNotFound;
  }
  template <typename K, typename V>
  static Get get_of(const Table<K, V>& table, const K& key, V& row, bool& found, bool write) {
    return {table.entry.get(), static_cast<std::uint64_t>(key), &row, sizeof row, &found, write};
  }
  template <typename V>
  static std::string bytes_of(const V& row) {
    return {reinterpret_cast<const char*>(&row), sizeof row};
  }
  template <typename K>
  static Range range_of(const K& from, const K& to) {
    return {.from = static_cast<std::uint64_t>(from), .to = static_cast<std::uint64_t>(to)};
  }

  template <typename K, typename V>
  Outcome write(const Table<K, V>& table, const K& key, Write::Kind kind, std::string value) {
    coordinator_.write(*table.entry, static_cast<std::uint64_t>(key), kind, std::move(value));
    return Outcome::kOk;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan_range(const Table<K, V>& table, const Range& range, Visit&& visit) {
    bool more = true;
    const auto take = [&](std::uint64_t key, std::string_view value) {
      V row;
      if (!more || value.size() != sizeof row) return;
      std::memcpy(&row, value.data(), sizeof row);
      more = visit(static_cast<K>(key), row);
    };
    return coordinator_.scan(*table.entry, range, take) ? Outcome::kOk : Outcome::kAborted;
  }

  template <typename K, typename V>
  Outcome end_of(const Table<K, V>& table, Range range, K& key, V& row) {
    bool any = false;
    range.most = 1;
    const auto take = [&](const K& found_key, const V& found_row) {
      key = found_key;
      row = found_row;
      any = true;
      return false;
    };
    const Outcome outcome = scan_range<K, V>(table, range, take);
    return outcome != Outcome::kOk || any ? outcome : Outcome::kNotFound;
  }

  Coordinator& coordinator_;
};

}  // namespace granary::bench::two_pc
