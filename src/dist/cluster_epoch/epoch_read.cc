#include "src/dist/cluster_epoch/epoch_read.h"

namespace granary::dist {

using rdma::fiber::Next;

Next EpochRead::settle() {
  if (until_.others && until_.others()) return Next::kAtOnce;
  if (reached()) return Next::kEnded;
  return ++looks_ < until_.looks ? Next::kAfterPause : Next::kEnded;
}

}  // namespace granary::dist
