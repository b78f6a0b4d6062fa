#pragma once
// The challenges that this node has given to those that want to connect, until they answer.

#include <deque>
#include <optional>

#include "rdma/authentication.h"
#include "rdma/verbs/hello.h"

namespace granary::rdma::verbs {

/// Bounded: when there are too many, the oldest are forgotten, and whom they were for must ask again.
class Challenges {
 public:
  static constexpr std::size_t kMost = 1024;

  /// A fresh one for who made the request, in the place of an earlier one.
  Nonce give(const Request& request);
  /// That one, once: it is of no use for a second answer.
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
