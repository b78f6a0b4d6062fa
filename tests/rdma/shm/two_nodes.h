#pragma once
// Two nodes of the shm provider in this process, each with a shared region; node 2's is what node 1 reaches.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "rdma/shm/shm_fabric.h"
#include "tests/support/temporary_directory.h"

namespace granary::rdma::shm {

struct ShmNode {
  ShmNode(NodeId node, const std::string& run_directory, std::uint64_t layout = 0, const ClusterKey& key = {}) {
    region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff, .shared = true}).value();
    fabric = open_shm_fabric({.node = {.node = node, .generation = 1, .layout = layout, .key = key},
                              .run_directory = run_directory})
                 .value();
    EXPECT_TRUE(fabric->register_region({.id = 1}, *region).ok());
    EXPECT_TRUE(fabric->listen().ok());
  }
  std::uint64_t* word(std::size_t n) const { return reinterpret_cast<std::uint64_t*>(region->base()) + n; }

  std::unique_ptr<memory::Region> region;
  std::unique_ptr<Fabric> fabric;
};

/// A thread of a node with a connection to another one; its chains are done when post() returns.
struct ShmWorker {
  ShmWorker(ShmNode& node, NodeId peer)
      : endpoint(node.fabric->open_endpoint().value()),
        connection(endpoint->connect(peer, 1'000'000).value()) {}

  void run(std::span<const Operation> chain) {
    Completion completion;
    EXPECT_EQ(endpoint->post(connection, chain, Signal::kYes, 0), PostResult::kPosted);
    EXPECT_EQ(endpoint->poll({&completion, 1}), 1u);
  }

  std::unique_ptr<Endpoint> endpoint;
  ConnectionId connection;
};

}  // namespace granary::rdma::shm
