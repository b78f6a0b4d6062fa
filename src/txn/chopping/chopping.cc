#include "src/txn/chopping/chopping.h"

#include <algorithm>
#include <deque>
#include <optional>

#include <fmt/format.h>

namespace granary::txn {
namespace {

bool conflict(const DeclaredAccess& a, const DeclaredAccess& b) {
  const bool may_meet = a.table == b.table && (a.keys.empty() || b.keys.empty() || a.keys == b.keys);
  return may_meet && (a.mode != b.mode || a.mode == AccessMode::kWrite);
}

/// Returns the table that two pieces conflict on, which makes a C-edge between them, or nullptr.
const std::string* conflict(const DeclaredAccesses& a, const DeclaredAccesses& b) {
  for (const DeclaredAccess& mine : a) {
    for (const DeclaredAccess& other : b) {
      if (conflict(mine, other)) return &mine.table;
    }
  }
  return nullptr;
}

/// The graph of the pieces of one call of a chain, and of one other call of every chain. The call is part of a cycle
/// with S- and C-edges exactly if there is a path between two of its pieces that uses none of its S-edges.
///
/// One other call of each chain is enough. A path that goes through two calls of one chain can leave the first call by
/// the piece by which it leaves the second, since S-edges join all pieces of a call.
class Graph {
 public:
  Graph(std::span<const Chain> chains, std::size_t call) : chains_(chains), call_(call) {
    for (std::size_t piece = 0; piece < chains[call].pieces.size(); ++piece) nodes_.push_back({call, piece, true});
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
      for (std::size_t piece = 0; piece < chains[chain].pieces.size(); ++piece) nodes_.push_back({chain, piece, false});
    }
  }

  /// Returns such a cycle in words, if there is one.
  std::optional<std::string> find_cycle() const {
    for (std::size_t piece = 0; piece + 1 < chains_[call_].pieces.size(); ++piece) {
      if (auto found = find_cycle_from(piece)) return found;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Node {
    std::size_t chain;
    std::size_t piece;
    bool of_call;
  };

  const DeclaredAccesses& accesses(const Node& node) const { return chains_[node.chain].pieces[node.piece]; }
  bool same_call(const Node& a, const Node& b) const { return a.chain == b.chain && a.of_call == b.of_call; }
  bool joined(const Node& a, const Node& b) const {
    return same_call(a, b) ? !a.of_call : conflict(accesses(a), accesses(b)) != nullptr;
  }

  std::optional<std::string> find_cycle_from(std::size_t start) const {
    std::vector<std::size_t> came_from(nodes_.size(), kNone);
    std::deque<std::size_t> next{start};
    came_from[start] = start;
    for (; !next.empty(); next.pop_front()) {
      const std::size_t at = next.front();
      if (at != start && nodes_[at].of_call) return in_words(start, at, came_from);
      for (std::size_t to = 0; to < nodes_.size(); ++to) {
        if (came_from[to] != kNone || !joined(nodes_[at], nodes_[to])) continue;
        came_from[to] = at;
        next.push_back(to);
      }
    }
    return std::nullopt;
  }

  std::string in_words(std::size_t start, std::size_t end, const std::vector<std::size_t>& came_from) const {
    std::vector<std::size_t> way{end};
    while (way.back() != start) way.push_back(came_from[way.back()]);
    std::reverse(way.begin(), way.end());
    std::string words = piece_in_words(nodes_[start]);
    for (std::size_t i = 1; i < way.size(); ++i) {
      const Node &from = nodes_[way[i - 1]], &to = nodes_[way[i]];
      words += same_call(from, to) ? " - same call - "
                                   : fmt::format(" - both use '{}' - ", *conflict(accesses(from), accesses(to)));
      words += piece_in_words(to);
    }
    return words;
  }
  std::string piece_in_words(const Node& node) const {
    return fmt::format("piece {} of {}'{}'", node.piece + 1, node.of_call ? "" : "another ", chains_[node.chain].name);
  }

  std::span<const Chain> chains_;
  std::size_t call_;
  std::vector<Node> nodes_;
};

}  // namespace

Status check_chopping(std::span<const Chain> chains) {
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (const auto cycle = Graph(chains, i).find_cycle()) {
      return {StatusCode::kInvalidArgument,
              fmt::format(
                  "procedure '{}' may not run in pieces, since others could see it half done: {}; join these pieces "
                  "of it, or declare keys or additions more exactly",
                  chains[i].name, *cycle)};
    }
  }
  return {};
}

}  // namespace granary::txn
