// Looks up keys so that their cache misses overlap. Each search takes one step (one node) in turn, and each step ends
// with a prefetch for the next one. The searches are up to kInFlight of one caller, or those of callers that take
// turns.

#include <algorithm>

#include "kvstore/ordered/descend.h"
#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {
namespace {

inline constexpr std::size_t kInFlight = 16;

template <unsigned Width>
struct Search {
  Place<Width> place;
  Node* node = nullptr;
  bool at_link = false;  ///< a link led to `node`, so the layer's root may be above it
};

/// Takes the search one node further. Returns true if it is over.
template <unsigned Width>
bool step(Search<Width>* search) {
  if (search->at_link) {
    search->node = layer_root(search->node);
    search->at_link = false;
  }
  if (!search->node->version.is_leaf()) {
    search->node = static_cast<InteriorNode<Width>*>(search->node)->child_for(search->place.key.at);
    prefetch_node<Width>(search->node);
    return false;
  }
  if (search_leaf(static_cast<LeafNode<Width>*>(search->node), &search->place, &search->node)) return true;
  search->place.key = search->place.key.below();
  search->at_link = true;
  prefetch_node<Width>(search->node);
  return false;
}

template <unsigned Width>
Search<Width> begin(const std::atomic<Node*>& root, std::string_view key) {
  Search<Width> search;
  search.place.key = LayerKey(key);
  search.node = get(root);
  search.at_link = true;
  return search;
}

/// Returns the result of a search that is over. If the search met a change, the key is looked up once more, alone.
template <unsigned Width>
Lookup end(const std::atomic<Node*>& root, std::string_view key, Place<Width> place) {
  if (place.leaf == nullptr) [[unlikely]]
    place = locate<Width>(root, key);
  if (place.value != 0) prefetch_value(place.value);
  return {place.value, place.leaf, NodeVersion::key_set(place.version)};
}

/// Looks up at most kInFlight keys.
template <unsigned Width>
void find_group(const std::atomic<Node*>& root, std::span<const std::string_view> keys, std::span<Lookup> results) {
  Search<Width> searches[kInFlight];
  std::uint8_t open[kInFlight];
  std::size_t open_count = keys.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    searches[i] = begin<Width>(root, keys[i]);
    open[i] = static_cast<std::uint8_t>(i);
  }
  while (open_count > 0) {
    std::size_t still_open = 0;
    for (std::size_t o = 0; o < open_count; ++o) {
      const std::uint8_t i = open[o];
      if (!step(&searches[i])) {
        open[still_open++] = i;
        continue;
      }
      results[i] = end<Width>(root, keys[i], searches[i].place);
    }
    open_count = still_open;
  }
}

}  // namespace

template <unsigned Width>
void BasicTree<Width>::find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const {
  for (std::size_t at = 0; at < keys.size(); at += kInFlight) {
    const std::size_t count = std::min(kInFlight, keys.size() - at);
    find_group<Width>(root_, keys.subspan(at, count), results.subspan(at, count));
  }
}

template <unsigned Width>
Lookup BasicTree<Width>::find_in_turns(std::string_view key, FunctionRef<void()> turn) const {
  Search<Width> search = begin<Width>(root_, key);
  while (!step(&search)) turn();
  const Lookup found = end<Width>(root_, key, search.place);
  if (found.value != 0) turn();
  return found;
}

template Lookup BasicTree<15>::find_in_turns(std::string_view, FunctionRef<void()>) const;
template Lookup BasicTree<3>::find_in_turns(std::string_view, FunctionRef<void()>) const;
template void BasicTree<15>::find_many(std::span<const std::string_view>, std::span<Lookup>) const;
template void BasicTree<3>::find_many(std::span<const std::string_view>, std::span<Lookup>) const;

}  // namespace granary::kvstore::ordered
