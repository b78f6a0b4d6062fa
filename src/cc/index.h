#pragma once
// The index of a table, ordered or hash, as transactions use it: from keys to records, and for the node set the place
// where a key is or would be, with its version. Which kind it is never changes, so the ordered way costs one branch that is always
// predicted.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kvstore/hash/table.h"
#include "kvstore/ordered/tree.h"

namespace granary::cc {

using kvstore::NodeMemory;
using kvstore::ordered::InsertResult;
using kvstore::ordered::Leaf;
using kvstore::ordered::LeafHint;
using kvstore::ordered::Lookup;
using kvstore::ordered::Tree;
using kvstore::ordered::Value;
using kvstore::ordered::Version;

class Index {
 public:
  /// An ordered index.
  explicit Index(NodeMemory& memory) : tree_(memory) {}
  /// A hash index with this main header, in the region that begins at `region_base`. Its tree stays empty.
  Index(NodeMemory& memory, std::span<kvstore::hash::Bucket> main, const void* region_base) : tree_(memory) {
    hash_.emplace(main, region_base);
  }

  bool ordered() const { return !hash_.has_value(); }
  /// Of an ordered index: what only trees can do, such as scans.
  Tree& tree() { return tree_; }
  kvstore::hash::Table& hash() { return *hash_; }

  Lookup find(std::string_view key) const {
    if (!ordered()) [[unlikely]]
      return as_lookup(hash_->find(key));
    return tree_.find(key);
  }
  void find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const {
    if (!ordered()) [[unlikely]]
      return find_many_hashed(keys, results);
    tree_.find_many(keys, results);
  }
  InsertResult insert_if_absent(std::string_view key, Value value, NodeMemory& memory, LeafHint* hint) {
    if (!ordered()) [[unlikely]]
      return insert_hashed(key, value, memory);
    return tree_.insert_if_absent(key, value, memory, hint);
  }
  bool replace(std::string_view key, Value expected, Value desired) {
    return ordered() ? tree_.replace(key, expected, desired) : hash_->replace(key, expected, desired);
  }
  bool remove(std::string_view key, Value expected, NodeMemory& memory) {
    return ordered() ? tree_.remove(key, expected, memory) : hash_->remove(key, expected, memory);
  }

  /// What the place of a node set is, for other nodes: a leaf or a bucket, and its version as that kind of index tells it.
  struct Plain {
    bool bucket;
    const void* at;
    std::uint64_t version;
  };
  static Plain plain(const Leaf* place, Version version) {
    if (is_bucket(place)) return {true, bucket_of(place), version & ~kBucketVersion};
    return {false, place, version};
  }

  /// True if the leaf or bucket still has this version and nobody is changing it; never waits.
  static bool unchanged(const Leaf* place, Version version) {
    if (is_bucket(place)) [[unlikely]]
      return kvstore::hash::Table::unchanged(bucket_of(place), version & ~kBucketVersion);
    return Tree::unchanged(place, version);
  }
  /// The same inside an HTM region.
  template <typename Memory>
  static bool unchanged_in(Memory& memory, const Leaf* place, Version version) {
    if (is_bucket(place)) [[unlikely]]
      return memory.load(kvstore::hash::Table::version_word(bucket_of(place))) == (version & ~kBucketVersion);
    return Tree::unchanged(memory.load(Tree::version_word(place)), version);
  }

 private:
  // A bucket in the node set: its address with the lowest bit set, which no leaf has. Its versions are even; with the lowest bit
  // they are never 0, which means a new leaf (NodeChange).
  static constexpr std::uintptr_t kBucketTag = 1;
  static constexpr Version kBucketVersion = 1;

  static bool is_bucket(const Leaf* place) { return (reinterpret_cast<std::uintptr_t>(place) & kBucketTag) != 0; }
  static const kvstore::hash::Bucket* bucket_of(const Leaf* place) {
    return reinterpret_cast<const kvstore::hash::Bucket*>(reinterpret_cast<std::uintptr_t>(place) & ~kBucketTag);
  }
  static const Leaf* place_of(const kvstore::hash::Bucket* bucket) {
    return reinterpret_cast<const Leaf*>(reinterpret_cast<std::uintptr_t>(bucket) | kBucketTag);
  }
  static Lookup as_lookup(const kvstore::hash::Lookup& at) {
    return {at.value, place_of(at.bucket), at.version | kBucketVersion};
  }
  void find_many_hashed(std::span<const std::string_view> keys, std::span<Lookup> results) const;
  InsertResult insert_hashed(std::string_view key, Value value, NodeMemory& memory);

  Tree tree_;
  std::optional<kvstore::hash::Table> hash_;
};

}  // namespace granary::cc
