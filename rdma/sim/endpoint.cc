#include "rdma/sim/endpoint.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/region_mark.h"

namespace granary::rdma::sim {

SimEndpoint::~SimEndpoint() {
  crash();
  fabric_.forget(this);
}

const Limits& SimEndpoint::limits() const {
  static constexpr Limits kLimits{
      .outstanding = 64, .chain_length = 16, .inline_bytes = kLine, .operation_bytes = 1u << 30};
  return kLimits;
}

Status SimEndpoint::refusal(NodeId peer) const {
  const NodeOptions& mine = fabric_.node();
  const SimFabric* const target = fabric_.network().find(peer);
  const bool linked = fabric_.network().linked(mine.node, peer) && fabric_.network().linked(peer, mine.node);
  if (fabric_.crashed() || target == nullptr || !target->listening() || !linked) {
    return Status(StatusCode::kUnavailable, fmt::format("node {} does not answer", peer));
  }
  if (target->node().layout != mine.layout) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} has memory layout {:#x}, node {} has {:#x}; run the same Granary with the same "
                              "cluster file on both",
                              peer, target->node().layout, mine.node, mine.layout));
  }
  if (target->node().key != mine.key) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} has another cluster key than node {}", peer, mine.node));
  }
  if (target->cut_lives().contains(mine.node, mine.generation)) return CutLives::refused(mine, peer);
  if (fabric_.cut_lives().contains(peer, target->node().generation)) {
    return CutLives::answered(peer, target->node().generation);
  }
  return {};
}

Result<ConnectionId> SimEndpoint::connect(NodeId peer, std::uint64_t) {
  for (Numbered& connection : connections_) {
    if (connection.queue_pair->to() != peer) continue;
    if (!connection.queue_pair->broken())
      return Status(StatusCode::kAlreadyExists, fmt::format("this endpoint is connected to node {} already", peer));
    connection.given_up = true;
  }
  if (Status status = refusal(peer); !status.ok()) return status;
  for (const Numbered& connection : connections_) {
    if (connection.queue_pair->to() == peer) connection.queue_pair->sever();
  }
  fabric_.network().sever_earlier_lives(fabric_.node().node, peer, fabric_.node().generation);
  SimFabric& target = *fabric_.network().find(peer);
  PeerRegions regions(peer, target.node().generation);
  for (std::size_t i = 0; i < target.regions().size(); ++i) {
    const LocalRegions::Entry& entry = target.regions()[i];
    if (entry.spec.access == Access::kRemote) regions.add(entry.spec.id, entry.bytes);
  }
  auto connection = std::make_shared<Connection>(fabric_.network(), fabric_.node(), target, std::move(regions));
  fabric_.network().add(connection);
  connections_.push_back({std::move(connection)});
  return static_cast<ConnectionId>(connections_.size() - 1);
}

Status SimEndpoint::status(ConnectionId connection) const {
  if (!at(connection).broken()) return {};
  return Status(StatusCode::kUnavailable,
                fmt::format("node {}: {}; connect again", at(connection).to(), at(connection).why_broken()));
}

std::uint64_t SimEndpoint::peer_region_bytes(ConnectionId connection, RegionId region) const {
  return connections_[connection].given_up ? 0 : at(connection).regions().bytes(region);
}

PostResult SimEndpoint::post(ConnectionId connection, std::span<const Operation> chain, Signal signal,
                             std::uint64_t tag) {
  base::outside_region();
  if (at(connection).broken()) return PostResult::kBroken;
  const PostResult checked = check_chain(chain, limits(), fabric_.regions(), at(connection).regions());
  if (checked != PostResult::kPosted) return checked;
  std::uint32_t& outstanding = connections_[connection].outstanding;
  if (outstanding + chain.size() > limits().outstanding) return PostResult::kFull;
  outstanding += static_cast<std::uint32_t>(chain.size());
  at(connection).post(chain, signal, tag, limits().inline_bytes);
  return PostResult::kPosted;
}

std::size_t SimEndpoint::poll(std::span<Completion> completions) {
  base::outside_region();
  std::size_t count = 0;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    while (count < completions.size()) {
      const auto report = connections_[i].queue_pair->take_report();
      if (!report) break;
      connections_[i].outstanding -= report->operations;
      if (report->signal == Signal::kNo) continue;
      completions[count++] = {report->tag, static_cast<ConnectionId>(i), report->status};
    }
  }
  return count;
}

PostResult SimEndpoint::ring(ConnectionId connection, BellId bell) {
  if (at(connection).broken()) return PostResult::kBroken;
  at(connection).ring(bell);
  return PostResult::kPosted;
}

bool SimEndpoint::roused() {
  bool roused = std::exchange(rung_, false);
  for (Numbered& connection : connections_) {
    const bool broke = connection.queue_pair->broken() && !std::exchange(connection.breakage_noticed, true);
    roused |= broke || connection.queue_pair->has_report();
  }
  return roused;
}

bool SimEndpoint::sleep(std::uint64_t timeout_us) {
  base::outside_region();
  SimNetwork& network = fabric_.network();
  const std::uint64_t end = network.now() + timeout_us * 1000;
  network.at(end, [] {});
  while (!roused()) {
    if (network.now() >= end) return false;
    network.wait();
  }
  return true;
}

void SimEndpoint::crash() {
  for (const Numbered& connection : connections_) connection.queue_pair->break_now("its own node ended");
}

}  // namespace granary::rdma::sim
