#include "bench/fabric/post_and_wait.h"

#include <fmt/format.h>

namespace granary::bench::fabric {

Status failure_of(rdma::PostResult result) {
  return {StatusCode::kUnavailable,
          fmt::format("the fabric has not carried out a chain of operations: {}", rdma::name(result))};
}

}  // namespace granary::bench::fabric
