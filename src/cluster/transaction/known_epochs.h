#pragma once
// Remembers the epochs that other nodes are known to have reached. E of a node only grows while the node lives. So an E
// that one transaction of a worker has READ is a lower bound for the worker's next transactions, too, and TicToc's
// validation (read_checks.h) needs no round trip to learn it (I28).

#include <algorithm>
#include <vector>

#include "rdma/fabric.h"
#include "src/epoch/epoch.h"

namespace granary::cluster {

/// Used by the worker's thread only.
class KnownEpochs {
 public:
  /// Notes that the node's E was `epoch` in this life.
  void note(rdma::NodeId node, rdma::Generation life, epoch::Epoch epoch) {
    if (node >= known_.size()) known_.resize(std::size_t{node} + 1);
    Known& known = known_[node];
    if (life > known.life) known = {.life = life};
    if (life == known.life) known.epoch = std::max(known.epoch, epoch);
  }
  /// Returns an epoch that the node has reached in this life; 0 if none is known.
  epoch::Epoch of(rdma::NodeId node, rdma::Generation life) const {
    return node < known_.size() && known_[node].life == life ? known_[node].epoch : 0;
  }

 private:
  struct Known {
    rdma::Generation life = 0;
    epoch::Epoch epoch = 0;
  };

  std::vector<Known> known_;  ///< by node
};

}  // namespace granary::cluster
