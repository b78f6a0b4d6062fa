#pragma once
// Where the mailboxes of a cluster lie: all in one region a node, at places that every node computes. Each worker of each node has
// a mailbox in each direction with each node's service, and beside it registered memory in which its messages are made.
//
//   requests    by asking node and worker     rings, filled by others       )
//   answers     by worker and answering node  rings, filled by others       )  each `ring_bytes` long
//   out         by worker and asked node      where requests are made       )
//   back        by asking node and worker     where answers are made        )

#include <cstdint>

#include "rdma/fabric.h"

namespace granary::dist::messages {

/// The same on all nodes.
struct MailboxLayout {
  rdma::RegionId region = 0;
  rdma::NodeId nodes = 0;                               ///< node ids are below
  std::uint32_t workers = 0;                            ///< that ask, of each node
  std::uint64_t ring_bytes = std::uint64_t{16} << 10;   ///< a multiple of 64
  std::uint64_t most_bytes = std::uint64_t{256} << 10;  ///< of a message, which may be longer than its ring

  std::uint64_t region_bytes() const { return 4 * count() * ring_bytes; }

  // Offsets in the region of the node that the comment names.
  std::uint64_t request_ring(rdma::NodeId asking, std::uint32_t worker) const {  ///< of the asked node
    return place(0, asking * std::uint64_t{workers} + worker);
  }
  std::uint64_t answer_ring(std::uint32_t worker, rdma::NodeId asked) const {  ///< of the asking node
    return place(1, worker * std::uint64_t{nodes} + asked);
  }
  std::uint64_t request_staging(std::uint32_t worker, rdma::NodeId asked) const {  ///< of the asking node
    return place(2, worker * std::uint64_t{nodes} + asked);
  }
  std::uint64_t answer_staging(rdma::NodeId asking, std::uint32_t worker) const {  ///< of the asked node
    return place(3, asking * std::uint64_t{workers} + worker);
  }

 private:
  std::uint64_t count() const { return std::uint64_t{nodes} * workers; }
  std::uint64_t place(unsigned part, std::uint64_t number) const { return (part * count() + number) * ring_bytes; }
};

}  // namespace granary::dist::messages
