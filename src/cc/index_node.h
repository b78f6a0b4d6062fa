#pragma once
// Names a node in an index of this node, where a key is or would be: a leaf of a tree or a bucket of a hash table. The
// node set (node_set.h) holds index nodes with the versions that a transaction saw; every insert changes the version.

#include <cstdint>
#include <functional>

#include "kvstore/hash/table.h"
#include "kvstore/ordered/tree.h"

namespace granary::cc {

using kvstore::ordered::Leaf;
using kvstore::ordered::Tree;
using kvstore::ordered::Value;
using Bucket = kvstore::hash::Bucket;
using Version = std::uint64_t;
static_assert(std::is_same_v<Version, kvstore::ordered::Version> && std::is_same_v<Version, kvstore::hash::Version>);

/// A leaf of an ordered index or a bucket of a hash index, in one word: the lowest bit of the address tells which.
class IndexNode {
 public:
  constexpr IndexNode() = default;
  IndexNode(const Leaf* leaf) : word_(reinterpret_cast<std::uintptr_t>(leaf)) {}
  IndexNode(const Bucket* bucket) : word_(reinterpret_cast<std::uintptr_t>(bucket) | kBucket) {}

  bool is_bucket() const { return (word_ & kBucket) != 0; }
  const Leaf* leaf() const { return reinterpret_cast<const Leaf*>(word_); }
  const Bucket* bucket() const { return reinterpret_cast<const Bucket*>(word_ & ~kBucket); }
  const void* address() const { return reinterpret_cast<const void*>(word_ & ~kBucket); }
  bool operator==(const IndexNode&) const = default;
  std::size_t hash() const { return std::hash<std::uintptr_t>()(word_); }

  /// Returns true if the node still has this version and no thread is changing it. Never waits.
  bool unchanged(Version version) const {
    if (is_bucket()) [[unlikely]]
      return kvstore::hash::Table::unchanged(bucket(), version);
    return Tree::unchanged(leaf(), version);
  }
  /// Returns the same as unchanged(), by loads inside an HTM region.
  template <typename Memory>
  bool unchanged_in(Memory& memory, Version version) const {
    if (is_bucket()) [[unlikely]]
      return memory.load(kvstore::hash::Table::version_word(bucket())) == version;
    return Tree::unchanged(memory.load(Tree::version_word(leaf())), version);
  }

 private:
  static constexpr std::uintptr_t kBucket = 1;
  std::uintptr_t word_ = 0;
};

}  // namespace granary::cc

template <>
struct std::hash<granary::cc::IndexNode> {
  std::size_t operator()(const granary::cc::IndexNode& node) const { return node.hash(); }
};
