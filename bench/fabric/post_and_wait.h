#pragma once
// Posts a chain and waits for it, in benchmarks that have one chain under way at a time.

#include <span>

#include <granary/status.h>

#include "rdma/fabric.h"

namespace granary::bench::fabric {

/// Posts a chain and polls until it has completed. Returns kPosted then, and otherwise the reason: a chain that was
/// refused has no completion to wait for.
inline rdma::PostResult post_and_wait(rdma::Endpoint& endpoint, rdma::ConnectionId connection,
                                      std::span<const rdma::Operation> chain) {
  const rdma::PostResult posted = endpoint.post(connection, chain, rdma::Signal::kYes, 0);
  if (posted != rdma::PostResult::kPosted) [[unlikely]]
    return posted;
  rdma::Completion completion;
  while (endpoint.poll({&completion, 1}) == 0) {
  }
  return completion.status == rdma::CompletionStatus::kDone ? posted : rdma::PostResult::kBroken;
}

/// Returns the error that ends a benchmark whose chain has not completed.
Status failure_of(rdma::PostResult result);

}  // namespace granary::bench::fabric
