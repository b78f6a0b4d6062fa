#include "src/cluster/cluster_epoch/epoch_read.h"

namespace granary::cluster {

using rdma::fiber::Next;

Next EpochRead::interpret() {
  if (until_.others && until_.others()) return Next::kAtOnce;
  if (reached()) return Next::kEnded;
  const bool enough = ++looks_ >= until_.looks || (until_.in_vain && until_.in_vain());
  return enough ? Next::kEnded : Next::kAfterPause;
}

}  // namespace granary::cluster
