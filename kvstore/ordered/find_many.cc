// Many point lookups at once. Each search takes one step (one node) in turn, and each step ends with a prefetch of what
// the next one reads, so that up to kInFlight cache misses are under way together.

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
  bool at_link = false;  ///< node was led to by a link, so the layer's root may be above it
};

/// One node further; true if the search is over.
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

/// At most kInFlight keys.
template <unsigned Width>
void find_group(const std::atomic<Node*>& root, std::span<const std::string_view> keys, std::span<Lookup> results) {
  Search<Width> searches[kInFlight];
  std::uint8_t open[kInFlight];
  std::size_t open_count = keys.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    searches[i].place.key = LayerKey(keys[i]);
    searches[i].node = get(root);
    searches[i].at_link = true;
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
      // A search that met a change starts again alone.
      Place<Width>& place = searches[i].place;
      if (place.leaf == nullptr) [[unlikely]]
        place = locate<Width>(root, keys[i]);
      if (place.value != 0) prefetch_value(place.value);
      results[i] = {place.value, place.leaf, NodeVersion::key_set(place.version)};
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

template void BasicTree<15>::find_many(std::span<const std::string_view>, std::span<Lookup>) const;
template void BasicTree<3>::find_many(std::span<const std::string_view>, std::span<Lookup>) const;

}  // namespace granary::kvstore::ordered
