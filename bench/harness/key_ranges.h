#pragma once
// Shares keys 0 … count − 1 out by range among partitions of nearly the same size, and partitions among nodes.

#include <cstdint>

namespace granary::bench {

/// The part of a run that this process has. A node of a cluster, which may have but one node, has one partition of the
/// data and drives it. A process alone has everything.
struct NodeShare {
  std::uint32_t node = 0;  ///< the node's place, from 0 to nodes − 1
  std::uint32_t nodes = 1;
  bool in_cluster = false;
  bool alone() const { return !in_cluster; }
};

struct KeyRange {
  std::uint64_t from = 0, to = 0;  ///< [from, to)
  std::uint64_t size() const { return to - from; }
};

class KeyRanges {
 public:
  /// Precondition: 0 < parts ≤ count, and their product fits 64 bits.
  KeyRanges(std::uint64_t count, std::uint32_t parts) : count_(count), parts_(parts) {}

  std::uint64_t count() const { return count_; }
  std::uint32_t parts() const { return parts_; }
  KeyRange operator[](std::uint32_t part) const { return {count_ * part / parts_, count_ * (part + 1) / parts_}; }
  /// Returns the size of the largest part.
  std::uint64_t most() const { return (count_ + parts_ - 1) / parts_; }
  /// Returns the part that holds the key.
  std::uint32_t part_of(std::uint64_t key) const {
    return static_cast<std::uint32_t>(((key + 1) * parts_ - 1) / count_);
  }

 private:
  std::uint64_t count_;
  std::uint32_t parts_;
};

}  // namespace granary::bench
