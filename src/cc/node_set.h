#pragma once
// Implements the node set of a transaction (Silo 4.6), which protects it against phantoms. It holds the places of
// indexes that the transaction has scanned, or in which it missed a key, each with the version that it saw. `Place` is
// cc::Place for indexes of this node, and cluster::RemotePlace for those of other nodes.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace granary::cc {

/// How an insert has changed a place. `made`: the place is new, and has taken over keys of `split_from`.
template <typename Place>
struct PlaceChange {
  Place place;
  std::uint64_t before = 0;  ///< the version before; 0 of a place that is new
  std::uint64_t after = 0;
  Place split_from = {};
  bool made = false;
};

template <typename Place>
class NodeSet {
 public:
  struct Seen {
    Place place;
    std::uint64_t version;
  };

  void note(const Place& place, std::uint64_t version) { all_.push_back({place, version}); }
  /// Whether this place was noted last with this version, so that it need not be noted again.
  bool is_last(const Place& place, std::uint64_t version) const {
    return !all_.empty() && all_.back().place == place && all_.back().version == version;
  }
  /// Notes a place, unless it is noted already. False if it was noted with another version.
  bool note_once(const Place& place, std::uint64_t version) {
    for (const Seen& seen : all_) {
      if (seen.place == place) return seen.version == version;
    }
    note(place, version);
    return true;
  }
  /// Brings the set up to date with an insert by the transaction itself. A place that it has seen gets the new version.
  /// If keys have moved from such a place to a new one, the new place is noted, too. False if the place had another
  /// version before the insert than the transaction has seen: somebody else has changed it, which is a phantom.
  bool note_change(const PlaceChange<Place>& change) {
    if (!change.made) {
      for (Seen& seen : all_) {
        if (seen.place != change.place) continue;
        if (seen.version != change.before) return false;
        seen.version = change.after;
      }
      return true;
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].place != change.split_from) continue;
      note(change.place, change.after);
      break;
    }
    return true;
  }
  void clear() { all_.clear(); }

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<Seen> all_;
};

}  // namespace granary::cc
