#pragma once
// Has the index of a table as transactions use it, ordered (Masstree) or hash (DrTM's cluster chaining). It leads from
// keys to records, and tells for the node set the place where a key is or would be, with the version of that place. An
// index never changes its kind, so the ordered kind costs one branch, which is always predicted.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "kvstore/hash/table.h"
#include "kvstore/ordered/tree.h"
#include "src/cc/node_set.h"
#include "src/cc/index_node.h"

namespace granary::cc {

using kvstore::NodeMemory;
using kvstore::ordered::LeafHint;

struct Lookup {
  Value value = 0;      ///< 0: no such key
  IndexNode place;      ///< the leaf or bucket in which the key is or would be
  Version version = 0;  ///< the version under which that place was read
};

using InsertedWhat = kvstore::ordered::InsertResult::What;
struct Inserted {
  InsertedWhat what = InsertedWhat::kPresent;
  Value present = 0;  ///< kPresent
};

class Index {
 public:
  /// Makes an ordered index.
  explicit Index(NodeMemory& memory) : kind_(std::in_place_type<Tree>, memory) {}
  /// Makes a hash index with this main header, in the region that begins at `region_base`.
  Index(std::span<Bucket> main, const void* region_base)
      : kind_(std::in_place_type<kvstore::hash::Table>, main, region_base) {}

  bool ordered() const { return std::holds_alternative<Tree>(kind_); }
  /// Returns false if there was no memory for the index.
  bool ok() const { return !ordered() || tree().ok(); }
  /// Returns the tree of an ordered index, for scans and other operations that only trees have.
  Tree& tree() { return *std::get_if<Tree>(&kind_); }
  const Tree& tree() const { return *std::get_if<Tree>(&kind_); }
  kvstore::hash::Table& hash() { return *std::get_if<kvstore::hash::Table>(&kind_); }
  const kvstore::hash::Table& hash() const { return *std::get_if<kvstore::hash::Table>(&kind_); }

  /// Always inlined: every read comes through here, and a call would cost as much as this code does.
  [[gnu::always_inline]] Lookup find(std::string_view key) const {
    if (!ordered()) [[unlikely]]
      return as_lookup(hash().find(key));
    return as_lookup(tree().find(key));
  }
  /// Finds a key as find() does, and calls `turn` whenever it has begun to fetch the memory that it needs next: each
  /// node on its way, and at last the record.
  Lookup find_in_turns(std::string_view key, FunctionRef<void()> turn) const {
    return ordered() ? as_lookup(tree().find_in_turns(key, turn)) : as_lookup(hash().find_in_turns(key, turn));
  }
  void find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const {
    if (!ordered()) [[unlikely]]
      return find_many_in<kvstore::hash::Lookup>(hash(), keys, results);
    find_many_in<kvstore::ordered::Lookup>(tree(), keys, results);
  }
  /// `on_change` is told each place that the insert has changed (PlaceChange<IndexNode>), if it inserted.
  template <typename OnChange>
  Inserted insert_if_absent(std::string_view key, Value value, NodeMemory& memory, LeafHint* hint,
                            OnChange&& on_change) {
    if (!ordered()) [[unlikely]]
      return insert_hashed(key, value, memory, on_change);
    const kvstore::ordered::InsertResult inserted = tree().insert_if_absent(key, value, memory, hint);
    for (std::size_t i = 0; i < inserted.changes.size(); ++i) {
      const kvstore::ordered::NodeChange& change = inserted.changes[i];
      on_change(
          PlaceChange<IndexNode>{change.leaf, change.before, change.after, change.split_from, change.before == 0});
    }
    return {inserted.what, inserted.present};
  }
  Inserted insert_if_absent(std::string_view key, Value value, NodeMemory& memory, LeafHint* hint) {
    return insert_if_absent(key, value, memory, hint, [](const PlaceChange<IndexNode>&) {});
  }
  bool replace(std::string_view key, Value expected, Value desired) {
    return ordered() ? tree().replace(key, expected, desired) : hash().replace(key, expected, desired);
  }
  bool remove(std::string_view key, Value expected, NodeMemory& memory) {
    return ordered() ? tree().remove(key, expected, memory) : hash().remove(key, expected, memory);
  }

 private:
  static Lookup as_lookup(const kvstore::hash::Lookup& at) { return {at.value, at.bucket, at.version}; }
  static Lookup as_lookup(const kvstore::ordered::Lookup& at) { return {at.value, at.leaf, at.version}; }

  /// Searches in groups as large as those in which the indexes overlap cache misses.
  template <typename Found, typename Kind>
  static void find_many_in(const Kind& kind, std::span<const std::string_view> keys, std::span<Lookup> results) {
    std::array<Found, 16> found;
    while (!keys.empty()) {
      const std::size_t count = keys.size() < found.size() ? keys.size() : found.size();
      kind.find_many(keys.first(count), {found.data(), count});
      for (std::size_t i = 0; i < count; ++i) results[i] = as_lookup(found[i]);
      keys = keys.subspan(count);
      results = results.subspan(count);
    }
  }
  template <typename OnChange>
  Inserted insert_hashed(std::string_view key, Value value, NodeMemory& memory, OnChange&& on_change) {
    const kvstore::hash::InsertResult inserted = hash().insert_if_absent(key, value, memory, incarnation_at(value));
    using What = kvstore::hash::InsertResult::What;
    if (inserted.what == What::kPresent) return {InsertedWhat::kPresent, inserted.present};
    if (inserted.what == What::kOutOfMemory) return {InsertedWhat::kOutOfMemory, 0};
    on_change(PlaceChange<IndexNode>{.place = inserted.bucket, .before = inserted.before, .after = inserted.after});
    return {InsertedWhat::kInserted, 0};
  }
  /// Returns the incarnation that goes into the slot beside the value; other nodes that READ the slot compare it with
  /// the record's.
  static std::uint64_t incarnation_at(Value value);

  std::variant<Tree, kvstore::hash::Table> kind_;
};

}  // namespace granary::cc
