#pragma once
// Makes the caller's side of a meeting (rdma/shm/hello.h). It greets another node, proves that it has the cluster's key
// once that node has proved it, and maps the regions that it gets.

#include <chrono>
#include <memory>
#include <string>

#include "rdma/cut_lives.h"
#include "rdma/shm/hello.h"
#include "rdma/shm/peer.h"
#include "rdma/shm/process.h"

namespace granary::rdma::shm {

class Caller {
 public:
  using Clock = std::chrono::steady_clock;
  /// The arguments must outlive it. `hello` is fixed before the first call; `cut_lives` may grow meanwhile.
  Caller(const NodeOptions& mine, const Hello& hello, const Process& self, const CutLives& cut_lives)
      : mine_(mine),
        hello_(hello),
        self_(self),
        cut_lives_(cut_lives) {}

  /// Meets the node that listens at `path`, until `end`. Returns kUnavailable if no process answers there, or the one
  /// that answers ends meanwhile; then it may be tried again. Any other error is a refusal. Thread-safe.
  Result<std::shared_ptr<Peer>> greet(const std::string& path, NodeId node, Clock::time_point end) const;

 private:
  Status ask(int socket, NodeId node, Clock::time_point end) const;
  Status check_answerer(const Hello& theirs, NodeId node) const;

  const NodeOptions& mine_;
  const Hello& hello_;
  const Process& self_;
  const CutLives& cut_lives_;
};

}  // namespace granary::rdma::shm
