#include "rdma/sim/sim_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdma/sim/connection.h"
#include "rdma/sim/sim_fabric.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::sim {

SimNetwork::SimNetwork(const SimOptions& options) : options_(options), random_(options.seed) {}

SimNetwork::~SimNetwork() { base::always_check(living_.empty(), "fabrics end before their simulated network"); }

Result<std::unique_ptr<Fabric>> SimNetwork::open_fabric(const NodeOptions& node) {
  if (living_.contains(node.node)) {
    return Status(StatusCode::kAlreadyExists, fmt::format("node {} lives already", node.node));
  }
  Generation& last = last_life_[node.node];
  if (node.generation <= last) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("node {} had generation {} before; {} is not greater", node.node, last, node.generation));
  }
  last = node.generation;
  auto fabric = std::make_unique<SimFabric>(*this, node);
  living_[node.node] = fabric.get();
  trace(fmt::format("open {} generation {}", node.node, node.generation));
  return std::unique_ptr<Fabric>(std::move(fabric));
}

std::uint64_t SimNetwork::clock(NodeId node) const {
  const auto found = clocks_.find(node);
  if (found == clocks_.end()) return now_;
  const auto [offset, drift] = found->second;
  const std::int64_t error = offset + static_cast<std::int64_t>(now_ / 1'000'000) * drift;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(static_cast<std::int64_t>(now_) + error, 0));
}

void SimNetwork::schedule(NodeId node, std::uint64_t delay, std::function<void()> action) {
  const SimFabric* const life = find(node);
  if (life == nullptr) return;
  at(now_ + delay, [this, node, life = life->node().generation, action = std::move(action)] {
    const SimFabric* const fabric = find(node);
    if (fabric != nullptr && fabric->node().generation == life) action();
  });
}

bool SimNetwork::step() {
  if (events_.empty()) return false;
  const auto next = events_.begin();
  now_ = next->first.first;
  const std::function<void()> action = std::move(next->second);
  events_.erase(next);
  action();
  return true;
}

void SimNetwork::run_for(std::uint64_t time) {
  const std::uint64_t end = now_ + time;
  while (!events_.empty() && events_.begin()->first.first <= end) step();
  now_ = end;
}

void SimNetwork::crash(NodeId node) {
  SimFabric* const fabric = find(node);
  if (fabric == nullptr) return;
  trace(fmt::format("crash {}", node));
  fabric->crash();
}

void SimNetwork::cut_link(NodeId from, NodeId to) {
  trace(fmt::format("cut {} to {}", from, to));
  cut_.insert({from, to});
  for (const auto& connection : living_connections()) {
    if (connection->from() == from && connection->to() == to) connection->lose_requests();
    if (connection->from() == to && connection->to() == from) connection->lose_replies();
  }
}

void SimNetwork::heal_link(NodeId from, NodeId to) {
  trace(fmt::format("heal {} to {}", from, to));
  cut_.erase({from, to});
}

void SimNetwork::partition(const std::vector<NodeId>& some, const std::vector<NodeId>& others) {
  for (const NodeId a : some) {
    for (const NodeId b : others) {
      cut_link(a, b);
      cut_link(b, a);
    }
  }
}

void SimNetwork::lose_connections(NodeId a, NodeId b) {
  for (const auto& connection : living_connections()) {
    const bool between =
        (connection->from() == a && connection->to() == b) || (connection->from() == b && connection->to() == a);
    if (between) connection->break_now("the network lost it");
  }
}

void SimNetwork::trace(const std::string& text) {
  const std::string line = fmt::format("{} {}\n", now_, text);
  for (const char c : line) trace_hash_ = (trace_hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  if (options_.keep_trace) trace_text_ += line;
}

void SimNetwork::at(std::uint64_t time, std::function<void()> action) {
  events_.emplace(std::pair(std::max(time, now_), events_made_++), std::move(action));
}

std::uint64_t SimNetwork::some_delay() {
  return options_.least_delay + random_.below(options_.most_delay - options_.least_delay + 1);
}

SimFabric* SimNetwork::find(NodeId node) const {
  const auto found = living_.find(node);
  return found == living_.end() ? nullptr : found->second;
}

void SimNetwork::forget(SimFabric* fabric) {
  const auto found = living_.find(fabric->node().node);
  if (found == living_.end() || found->second != fabric) return;
  living_.erase(found);
  for (const auto& connection : living_connections()) {
    if (connection->to() == fabric->node().node) connection->target_gone("it ended or crashed");
  }
}

void SimNetwork::sever_earlier_lives(NodeId from, NodeId to, Generation life) {
  for (const auto& connection : living_connections()) {
    if (connection->from() == from && connection->to() == to && connection->from_life() != life) connection->sever();
  }
}

void SimNetwork::cut_off(NodeId node, Generation last, NodeId by) {
  trace(fmt::format("{} cuts off {} up to {}", by, node, last));
  for (const auto& connection : living_connections()) {
    const bool from_it = connection->from() == node && connection->to() == by && connection->from_life() <= last;
    const bool to_it =
        connection->from() == by && connection->to() == node && connection->regions().generation() <= last;
    if (from_it && !base::injected("cut-off-keeps-connections")) connection->target_gone("it was cut off there");
    if (to_it) connection->cut_off_here();
  }
}

std::vector<std::shared_ptr<Connection>> SimNetwork::living_connections() {
  std::erase_if(connections_, [](const auto& connection) { return connection->over(); });
  return connections_;
}

}  // namespace granary::rdma::sim
