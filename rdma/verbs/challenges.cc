#include "rdma/verbs/challenges.h"

#include <algorithm>

namespace granary::rdma::verbs {

Nonce Challenges::give(const Request& request) {
  static_cast<void>(take(request));
  if (open_.size() == kMost) open_.pop_front();
  Open& open = open_.emplace_back(Open{request.node, request.generation, request.endpoint, {}});
  make_fresh(open.challenge);
  return open.challenge;
}

std::optional<Nonce> Challenges::take(const Request& request) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
    return open.node == request.node && open.generation == request.generation && open.endpoint == request.endpoint;
  });
  if (found == open_.end()) return {};
  const Nonce challenge = found->challenge;
  open_.erase(found);
  return challenge;
}

}  // namespace granary::rdma::verbs
