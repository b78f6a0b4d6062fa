#pragma once
// Keeps the blocks of other nodes' memory that a worker has borrowed, to WRITE old versions into them (I12).
// old_versions.cc borrows and uses them; src/cluster/messages/lent_blocks.h is the owner's side.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rdma/fabric.h"
#include "src/cluster/messages/question.h"

namespace granary::cluster {

/// The borrowed blocks of one worker, whose fibers share them.
class BorrowedBlocks {
 public:
  /// How many blocks a worker asks for at once.
  static constexpr std::uint32_t kAskedAtOnce = 64;

  /// The unused blocks that one life of a node has lent for a table.
  struct Stock {
    rdma::Generation life = 0;
    /// Offsets in the owner's region. A fiber that takes a block out of the stock uses it, or loses it for good.
    std::vector<std::uint64_t> blocks;
    /// Whether a fiber asks for more blocks now. Others wait for the answer: a second question would tell the owner
    /// that all blocks of the first answer are used.
    bool asked = false;
  };

  /// Returns the stock for a table of this life of a node, or of a later life that is known by now: the caller
  /// compares. Blocks of a former life are forgotten, as that memory is gone.
  Stock& of(rdma::NodeId node, rdma::Generation life, messages::TableId table) {
    Stock& stock = stocks_[std::uint64_t{node} << 32 | table];
    if (stock.life < life) {
      stock.blocks.clear();
      stock.life = life;
    }
    return stock;
  }

 private:
  std::unordered_map<std::uint64_t, Stock> stocks_;  ///< by node and table
};

}  // namespace granary::cluster
