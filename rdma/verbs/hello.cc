#include "rdma/verbs/hello.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "rdma/cut_lives.h"

namespace granary::rdma::verbs {

std::optional<Request> read_request(std::span<const std::byte> data) {
  Request request;
  if (data.size() < sizeof(request)) return {};
  std::memcpy(&request, data.data(), sizeof(request));
  return request.magic == kHelloMagic ? std::optional(request) : std::nullopt;
}

std::optional<Answer> read_answer(std::span<const std::byte> data) {
  Answer answer;
  if (data.size() < kRefusalBytes) return {};
  std::memcpy(static_cast<void*>(&answer), data.data(), std::min(data.size(), sizeof(answer)));
  if (answer.magic != kHelloMagic || answer.region_count > kMostRegions) return {};
  const std::size_t needed = kRefusalBytes + answer.region_count * sizeof(RegionEntry);
  return data.size() < needed ? std::nullopt : std::optional(answer);
}

Refusal judge(const Request& request, const NodeOptions& node) {
  if (request.version != kHelloVersion) return Refusal::kVersion;
  if (request.target != node.node) return Refusal::kOtherNode;
  if (request.layout != node.layout) return Refusal::kLayout;
  return Refusal::kNone;
}

Proof proof_of(const ClusterKey& key, const Request& request, const Nonce& challenge) {
  Request said = request;
  said.proof = {};
  return prove(key, Side::kCaller, {bytes_of(said), bytes_of(challenge)});
}

Proof proof_of(const ClusterKey& key, const Request& request, const Answer& answer) {
  Answer said = answer;
  said.token = {};
  return prove(key, Side::kAnswerer, {bytes_of(request), bytes_of(said)});
}

Status explain(const Answer& answer, const Request& request, const std::string& place) {
  const auto refused = [&](std::string why) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} at {} refuses: {}", request.target, place, why));
  };
  switch (answer.refusal) {
    case Refusal::kVersion:
      return refused(
          fmt::format("it speaks version {} of the fabric, this node version {}; run one release on all nodes",
                      answer.version, request.version));
    case Refusal::kLayout:
      return refused(fmt::format(
          "its memory is laid out as {:#x}, this node's as {:#x}; run one release with one cluster file on all nodes",
          answer.layout, request.layout));
    case Refusal::kOtherNode: return refused(fmt::format("it is node {}; correct the address", answer.node));
    case Refusal::kTooLate: return refused("the attempt came late; try again");
    case Refusal::kKey: return refused("it has another cluster key; give both nodes the same key file");
    case Refusal::kCutOff:
      return CutLives::refused({.node = request.node, .generation = request.generation}, request.target);
    case Refusal::kChallenge:
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} at {} is asked by too many at once; try again", request.target, place));
    case Refusal::kResources:
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} at {} has no queue pair left for another connection", request.target, place));
    case Refusal::kConnections:
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} at {} has as many connections as it can have; give the nodes fewer workers",
                                request.target, place));
    case Refusal::kNone: break;
  }
  return refused("it gives a reason that this release does not know");
}

}  // namespace granary::rdma::verbs
