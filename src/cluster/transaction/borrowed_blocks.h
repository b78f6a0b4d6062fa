#pragma once
// The blocks of other nodes' memory that a worker holds, to WRITE old versions into them (messages/lent_blocks.h).

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rdma/fabric.h"
#include "src/cluster/messages/question.h"

namespace granary::cluster {

/// Of one worker, whose fibers share it.
class BorrowedBlocks {
 public:
  /// How many blocks a worker asks for at once.
  static constexpr std::uint32_t kAskedAtOnce = 64;

  /// What one life of a node has lent for a table, and is not used yet.
  struct Stock {
    rdma::Generation life = 0;
    std::vector<std::uint64_t>
        blocks;  ///< offsets in the owner's region; whoever takes one out writes it, or never gives it back
    /// A fiber asks for more. Others wait for it: to the owner, a second question would say that all of the first answer is used.
    bool asked = false;
  };

  /// Blocks of a former life are forgotten, as its memory is gone.
  Stock& of(rdma::NodeId node, rdma::Generation life, messages::TableId table) {
    Stock& stock = stocks_[std::uint64_t{node} << 32 | table];
    if (stock.life != life) stock.blocks.clear();
    stock.life = life;
    return stock;
  }

 private:
  std::unordered_map<std::uint64_t, Stock> stocks_;  ///< by node and table
};

}  // namespace granary::cluster
