#include "bench/append/history/dependency_graph.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_map>

namespace granary::bench::history {
namespace {
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
}

DependencyGraph::DependencyGraph(const Interpretation& all, RealTime real_time)
    : transactions_(all.txns.size()),
      edges_(all.txns.size()) {
  for (const auto& [key, versions] : all.keys) add_versions(key, versions);
  for (const ExternalRead& read : all.reads) add_read(all, read);
  add_real_time(all, real_time);
}

void DependencyGraph::add(std::uint32_t from, Edge edge) {
  if (from != edge.to) edges_[from].push_back(edge);
}

void DependencyGraph::add_versions(Key key, const KeyVersions& versions) {
  for (std::size_t i = 1; i < versions.order.size(); ++i) {
    const auto before = versions.origins.find(versions.order[i - 1]);
    const auto after = versions.origins.find(versions.order[i]);
    if (before == versions.origins.end() || after == versions.origins.end()) continue;
    add(before->second.txn, {after->second.txn, kWw, key, versions.order[i]});
  }
}

void DependencyGraph::add_read(const Interpretation& all, const ExternalRead& read) {
  const KeyVersions& versions = all.keys.at(read.key);
  if (read.length != 0) {
    const Element seen = versions.order[read.length - 1];
    const auto writer = versions.origins.find(seen);
    if (writer != versions.origins.end()) add(writer->second.txn, {read.txn, kWr, read.key, seen});
  }
  if (read.length < versions.order.size()) {
    const Element next = versions.order[read.length];
    const auto writer = versions.origins.find(next);
    if (writer != versions.origins.end()) add(read.txn, {writer->second.txn, kRw, read.key, next});
  }
}

void DependencyGraph::add_real_time(const Interpretation& all, RealTime real_time) {
  struct Moment {
    std::size_t position;
    bool completion;
    TxnId txn;
  };
  std::vector<Moment> moments;
  for (TxnId txn = 0; txn < all.txns.size(); ++txn) {
    if (all.txns[txn].ending == EventType::kFail) continue;
    moments.push_back({all.txns[txn].invoked, false, txn});
    if (all.txns[txn].completed != kNever) moments.push_back({all.txns[txn].completed, true, txn});
  }
  std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) { return a.position < b.position; });
  std::unordered_map<std::uint64_t, std::uint32_t> last_of;  // by process; of all in one entry if they have one chain
  for (const Moment& moment : moments) {
    const std::uint64_t chain = real_time == RealTime::kOfAll ? 0 : all.txns[moment.txn].process;
    std::uint32_t& last = last_of.try_emplace(chain, kNone).first->second;
    if (!moment.completion) {
      if (last != kNone) add(last, {moment.txn, kRt});
      continue;
    }
    const auto node = static_cast<std::uint32_t>(edges_.size());
    edges_.emplace_back();
    add(moment.txn, {node, kRt});
    if (last != kNone) add(last, {node, kRt});
    last = node;
  }
}

std::vector<std::uint32_t> DependencyGraph::components(EdgeMask mask) const {
  struct Frame {
    std::uint32_t node;
    std::size_t next_edge;
  };
  std::vector<std::uint32_t> index(size(), 0), low(size(), 0), component(size(), 0), stack;
  std::vector<bool> on_stack(size(), false);
  std::vector<Frame> frames;
  std::uint32_t next_index = 1, next_component = 1;
  const auto open = [&](std::uint32_t node) {
    index[node] = low[node] = next_index++;
    stack.push_back(node);
    on_stack[node] = true;
    frames.push_back({node, 0});
  };
  const auto close = [&](std::uint32_t root) {
    const bool alone = stack.back() == root;
    for (std::uint32_t member = kNone; member != root;) {
      member = stack.back();
      stack.pop_back();
      on_stack[member] = false;
      component[member] = alone ? 0 : next_component;
    }
    if (!alone) ++next_component;
  };
  for (std::uint32_t start = 0; start < size(); ++start) {
    if (index[start] != 0) continue;
    open(start);
    while (!frames.empty()) {
      const std::uint32_t node = frames.back().node;
      if (frames.back().next_edge < edges_[node].size()) {
        const Edge& edge = edges_[node][frames.back().next_edge++];
        if ((edge.type & mask) == 0) continue;
        if (index[edge.to] == 0) {
          open(edge.to);
        } else if (on_stack[edge.to]) {
          low[node] = std::min(low[node], index[edge.to]);
        }
        continue;
      }
      frames.pop_back();
      if (low[node] == index[node]) close(node);
      if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[node]);
    }
  }
  return component;
}

std::vector<Edge> DependencyGraph::path(std::uint32_t from, std::uint32_t to, EdgeMask mask,
                                        std::span<const std::uint32_t> component) const {
  // 0-1 breadth-first search: a step along the chain of completions costs nothing, so that a real-time step counts
  // as one however many transactions completed in between.
  struct Reached {
    std::uint32_t distance = kNone;
    std::uint32_t before = kNone;
    const Edge* by = nullptr;
  };
  std::vector<Reached> reached(size());
  std::deque<std::uint32_t> next{from};
  reached[from].distance = 0;
  while (!next.empty()) {
    const std::uint32_t node = next.front();
    next.pop_front();
    if (node == to) break;
    for (const Edge& edge : edges_[node]) {
      if ((edge.type & mask) == 0 || component[edge.to] != component[from]) continue;
      const std::uint32_t cost = is_transaction(edge.to) ? 1 : 0;
      if (reached[node].distance + cost >= reached[edge.to].distance) continue;
      reached[edge.to] = {reached[node].distance + cost, node, &edge};
      if (cost == 0) next.push_front(edge.to);
      if (cost == 1) next.push_back(edge.to);
    }
  }
  std::vector<Edge> steps;
  for (std::uint32_t node = to; node != from; node = reached[node].before) {
    if (reached[node].by == nullptr) return {};
    steps.push_back(*reached[node].by);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace granary::bench::history
