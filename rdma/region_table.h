#pragma once
// Keeps what providers know of regions, on both sides of a connection, and has the checks of a chain that all of them
// make before they post it. A chain that passes the checks can fail only because the connection breaks.

#include <cstdint>
#include <span>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma {

/// The regions of this node, whose memory its own operations may use.
class LocalRegions {
 public:
  struct Entry {
    RegionSpec spec;
    char* base = nullptr;
    std::uint64_t bytes = 0;
  };

  /// Returns the region that holds all of `bytes` at `at`, by its place in registration order; -1 if there is none.
  int find(const void* at, std::uint64_t bytes) const;
  const Entry& operator[](std::size_t place) const { return entries_[place]; }
  std::size_t size() const { return entries_.size(); }

  Status add(const RegionSpec& spec, const memory::Region& region);

 private:
  std::vector<Entry> entries_;
};

/// The regions of one life of a peer, as it described them when the connection was made.
class PeerRegions {
 public:
  struct Entry {
    RegionId id = 0;
    std::uint64_t bytes = 0;
  };

  PeerRegions(NodeId node, Generation generation) : node_(node), generation_(generation) {}

  void add(RegionId id, std::uint64_t bytes) { entries_.push_back({id, bytes}); }
  /// Returns the region's place in the order in which regions were added; -1 if there is no such region.
  int find(RegionId id) const;
  const Entry& operator[](std::size_t place) const { return entries_[place]; }
  NodeId node() const { return node_; }
  Generation generation() const { return generation_; }

  /// Returns the region's size; 0 if there is no such region.
  std::uint64_t bytes(RegionId id) const;

 private:
  NodeId node_;
  Generation generation_;
  std::vector<Entry> entries_;
};

/// Returns kPosted if the chain may be posted as far as regions, sizes and alignment go, and otherwise why not.
PostResult check_chain(std::span<const Operation> chain, const Limits& limits, const LocalRegions& local,
                       const PeerRegions& peer);

}  // namespace granary::rdma
