#pragma once
// The places of a cluster's mailboxes. All mailboxes of a node lie in one region, at places that every node computes.
// Each worker of each node has a mailbox in each direction with each node's service, and beside it registered memory in
// which its messages are made.
//
//   requests    by asking node and worker     rings, filled by others       )
//   answers     by worker and answering node  rings, filled by others       )  each `ring_bytes` long
//   out         by worker and asked node      where requests are made       )
//   back        by asking node and worker     where answers are made        )
//   signs       by asking node and worker     a byte for each ring of requests (rdma/mailbox/ring.h)
//
// Nodes count by their index among the cluster's ids, which may be far apart.

#include <algorithm>
#include <cstdint>
#include <span>

#include "rdma/fabric.h"

namespace granary::cluster::messages {

/// Places in a node's region of mailboxes. All nodes compute the same ones.
struct MailboxLayout {
  rdma::RegionId region = 0;
  rdma::NodeId nodes = 0;                               ///< so many
  std::span<const rdma::NodeId> ids = {};               ///< theirs, ascending; empty: 0, 1, ...
  std::uint32_t workers = 0;                            ///< that ask, of each node
  std::uint64_t ring_bytes = std::uint64_t{16} << 10;   ///< a multiple of 64
  std::uint64_t most_bytes = std::uint64_t{256} << 10;  ///< of a message, which may be longer than its ring

  std::uint64_t region_bytes() const { return signs() + (count() + kLine - 1) / kLine * kLine; }
  /// Returns how many rings of requests a node has.
  std::uint64_t count() const { return std::uint64_t{nodes} * workers; }

  /// Returns the index of a node among the ids, or `nodes` if there is no such node.
  std::size_t index_of(rdma::NodeId id) const {
    if (ids.empty()) return std::min(id, nodes);
    const auto found = std::lower_bound(ids.begin(), ids.end(), id);
    return found != ids.end() && *found == id ? static_cast<std::size_t>(found - ids.begin()) : nodes;
  }
  rdma::NodeId id_at(std::size_t index) const { return ids.empty() ? static_cast<rdma::NodeId>(index) : ids[index]; }

  // Offsets in the region of the node that the comment names.
  std::uint64_t request_ring(rdma::NodeId asking, std::uint32_t worker) const {  ///< of the asked node
    return ring(0, index_of(asking) * workers + worker);
  }
  std::uint64_t answer_ring(std::uint32_t worker, rdma::NodeId asked) const {  ///< of the asking node
    return ring(1, std::uint64_t{worker} * nodes + index_of(asked));
  }
  std::uint64_t request_staging(std::uint32_t worker, rdma::NodeId asked) const {  ///< of the asking node
    return ring(2, std::uint64_t{worker} * nodes + index_of(asked));
  }
  std::uint64_t answer_staging(rdma::NodeId asking, std::uint32_t worker) const {  ///< of the asked node
    return ring(3, index_of(asking) * workers + worker);
  }
  std::uint64_t request_sign(rdma::NodeId asking, std::uint32_t worker) const {  ///< of the asked node; one byte
    return signs() + index_of(asking) * workers + worker;
  }
  std::uint64_t signs() const { return 4 * count() * ring_bytes; }  ///< of each node

 private:
  static constexpr std::uint64_t kLine = 64;

  std::uint64_t ring(unsigned part, std::uint64_t number) const { return (part * count() + number) * ring_bytes; }
};

}  // namespace granary::cluster::messages
