#pragma once
// The operations of the Partitioned-Store: reads and writes straight on trees and rows. The caller holds the locks of
// all partitions that the transaction touches; tables that are not written any more may be read without.

#include <array>
#include <cstring>
#include <span>

#include <granary/key.h>
#include <granary/outcome.h>

#include "bench/store/places.h"
#include "bench/store/store.h"
#include "bench/store/undo_log.h"

namespace granary::bench::store {

template <typename K, typename V>
struct PartitionedTable : PartitionTree {
  static_assert(key_detail::Codec<K>::kMaxBytes <= sizeof(ShortKey::bytes), "keys here are short");
};

class PartitionedTransaction {
 public:
  template <typename K, typename V>
  Outcome get(const PartitionedTable<K, V>& table, const K& key, V& row) {
    const void* const block = find(table, encode(key));
    if (block == nullptr) return Outcome::kNotFound;
    std::memcpy(&row, block, sizeof row);
    return Outcome::kOk;
  }

  template <typename... Lookups>
  Outcome multi_get(std::span<Lookups>... lookups) {
    const auto get_all = [&](auto rest) {
      while (!rest.empty()) rest = rest.subspan(get_run(rest));
    };
    (get_all(lookups), ...);
    return Outcome::kOk;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const PartitionedTable<K, V>& table, const K& from, const K& to, Visit&& visit) {
    return scan(table, from, to, kvstore::ordered::Direction::kForward, visit);
  }
  template <typename K, typename V>
  Outcome first(const PartitionedTable<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, kvstore::ordered::Direction::kForward);
  }
  template <typename K, typename V>
  Outcome last(const PartitionedTable<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, kvstore::ordered::Direction::kReverse);
  }

  template <typename K, typename V>
  Outcome insert(const PartitionedTable<K, V>& table, const K& key, const V& row) {
    return insert_row(table, encode(key), &row, sizeof row);
  }
  template <typename K, typename V>
  Outcome overwrite(const PartitionedTable<K, V>& table, const K& key, const V& row) {
    void* const block = find(table, encode(key));
    if (block == nullptr) return Outcome::kNotFound;
    undo_.updated(block, sizeof row);
    std::memcpy(block, &row, sizeof row);
    return Outcome::kOk;
  }
  template <typename K, typename V>
  Outcome remove(const PartitionedTable<K, V>& table, const K& key) {
    return remove_row(table, encode(key));
  }

  /// Ends the transaction, with or without its changes.
  void end(bool keep) {
    keep ? undo_.commit() : undo_.roll_back();
    places_.forget_all();
    ++generation_;
  }

 private:
  struct InsertHint {
    const kvstore::ordered::Tree* tree = nullptr;
    std::uint64_t generation = 0;
    kvstore::ordered::LeafHint hint;
  };
  static constexpr std::size_t kHints = 31;

  template <typename K>
  static ShortKey encode(const K& key) {
    const EncodedKey<K> encoded(key);
    ShortKey out;
    out.size = static_cast<std::uint32_t>(encoded.view().size());
    std::memcpy(out.bytes, encoded.view().data(), out.size);
    return out;
  }
  /// Returns where this transaction last inserted into the tree, so that a run of neighbouring keys descends once, as
  /// in the engine. Nodes are freed only between transactions.
  kvstore::ordered::LeafHint* insert_hint(const kvstore::ordered::Tree* tree) {
    InsertHint& entry = insert_hints_[reinterpret_cast<std::uintptr_t>(tree) / alignof(std::max_align_t) % kHints];
    if (entry.tree != tree || entry.generation != generation_) entry = {tree, generation_, {}};
    return &entry.hint;
  }

  void* find(const PartitionTree& table, const ShortKey& key);
  Outcome insert_row(const PartitionTree& table, const ShortKey& key, const void* row, std::size_t bytes);
  Outcome remove_row(const PartitionTree& table, const ShortKey& key);

  /// Gets the first lookups that are on one table, at most a batch, and returns how many these are.
  template <typename K, typename V>
  std::size_t get_run(std::span<Lookup<PartitionedTable<K, V>, K, V>> lookups) {
    constexpr std::size_t kBatch = 16;
    std::array<ShortKey, kBatch> keys;
    std::array<std::string_view, kBatch> views;
    std::array<kvstore::ordered::Lookup, kBatch> found;
    const kvstore::ordered::Tree* const tree = lookups.front().table.tree;
    std::size_t count = 0;
    for (; count < std::min(kBatch, lookups.size()) && lookups[count].table.tree == tree; ++count) {
      keys[count] = encode(lookups[count].key);
      views[count] = keys[count].view();
    }
    tree->find_many({views.data(), count}, {found.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i].value != 0) base::prefetch_range(reinterpret_cast<const void*>(found[i].value), sizeof(V));
    }
    for (std::size_t i = 0; i < count; ++i) {
      lookups[i].found = found[i].value != 0;
      if (!lookups[i].found) continue;
      void* const block = reinterpret_cast<void*>(found[i].value);
      std::memcpy(lookups[i].row, block, sizeof(V));
      places_.remember({tree, views[i]}, block);
    }
    return count;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const PartitionedTable<K, V>& table, const K& from, const K& to, kvstore::ordered::Direction direction,
               Visit&& visit) {
    struct Visitor final : kvstore::ordered::ScanVisitor {
      Visitor(PartitionedTransaction& t, const kvstore::ordered::Tree* of, Visit& v)
          : transaction(t),
            tree(of),
            visit(v) {}
      void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
      bool on_entry(std::string_view bytes, kvstore::ordered::Value value) override {
        K key{};
        if (!decode_key(bytes, key)) return true;
        void* const block = reinterpret_cast<void*>(value);
        transaction.places_.remember({tree, bytes}, block);
        V row;
        std::memcpy(&row, block, sizeof row);
        return visit(key, row);
      }
      PartitionedTransaction& transaction;
      const kvstore::ordered::Tree* tree;
      Visit& visit;
    };
    const ShortKey low = encode(from), high = encode(to);
    Visitor visitor(*this, table.tree, visit);
    table.tree->scan({.from = low.view(), .to = high.view(), .to_infinity = false}, direction, visitor);
    return Outcome::kOk;
  }

  template <typename K, typename V>
  Outcome end_of(const PartitionedTable<K, V>& table, const K& from, const K& to, K& key, V& row,
                 kvstore::ordered::Direction direction) {
    return first_visited(key, row, [&](auto&& visit) { return scan(table, from, to, direction, visit); });
  }

  UndoLog undo_;
  std::uint64_t generation_ = 1;
  Places<void> places_;
  std::array<InsertHint, kHints> insert_hints_{};
};

}  // namespace granary::bench::store
