#pragma once
// Keeps the challenges that this node has given to callers, until they answer.

#include <deque>
#include <optional>

#include "rdma/authentication.h"
#include "rdma/verbs/hello.h"

namespace granary::rdma::verbs {

/// The open challenges. Their number is bounded: when there are too many, the oldest are forgotten, and their callers
/// must ask again.
class Challenges {
 public:
  static constexpr std::size_t kMost = 1024;

  /// Gives the caller a fresh challenge, which replaces an earlier one.
  Nonce give(const Request& request);
  /// Takes the caller's challenge, which serves for one answer only.
  std::optional<Nonce> take(const Request& request);

 private:
  struct Open {
    NodeId node;
    Generation generation;
    std::uint32_t endpoint;
    Nonce challenge;
  };
  std::deque<Open> open_;  ///< oldest first
};

}  // namespace granary::rdma::verbs
