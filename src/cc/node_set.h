#pragma once
// Implements the node set of a transaction (Silo 4.6), which protects it against phantoms. It holds the places of
// indexes that the transaction has scanned, or in which it missed a key, each with the version that it saw. `Place` is
// cc::IndexNode for indexes of this node, and cluster::RemoteIndexNode for those of others.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace granary::cc {

/// How an insert has changed a place.
template <typename Place>
struct PlaceChange {
  Place place;
  std::uint64_t before = 0;  ///< the version before; 0 for a new place
  std::uint64_t after = 0;   ///< the version after
  Place split_from = {};
  bool made = false;  ///< whether the place is new, and has taken over keys of `split_from`
};

/// The set of places. To note a place costs a store, so a place may be in it several times. To find a place costs the
/// same however many places there are. A set of more than kLinear places has a map, which is made when a place is first
/// looked for. `Place` needs operator== and std::hash.
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
    bool same = true;
    if (for_each(place, [&](const Seen& seen) { same &= seen.version == version; })) return same;
    note(place, version);
    return true;
  }
  /// Brings the set up to date with an insert by the transaction itself. A place that it has seen gets the new version.
  /// If keys have moved from such a place to a new one, the new place is noted, too. False if the place had another
  /// version before the insert than the transaction has seen: somebody else has changed it, which is a phantom.
  bool note_change(const PlaceChange<Place>& change) {
    if (change.made) {
      if (for_each(change.split_from, [](const Seen&) {})) note(change.place, change.after);
      return true;
    }
    bool same = true;
    for_each(change.place, [&](Seen& seen) {
      same &= seen.version == change.before;
      seen.version = change.after;
    });
    return same;
  }
  void clear() {
    all_.clear();
    if (mapped_ == 0) [[likely]]
      return;
    first_ = {};
    mapped_ = 0;
  }

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  static constexpr std::size_t kLinear = 32;

  /// Calls `with` for what was noted of the place. Returns whether anything was.
  template <typename With>
  bool for_each(const Place& place, const With& with) {
    if (all_.size() > kLinear) [[unlikely]]
      return for_mapped(place, with);
    bool any = false;
    for (Seen& seen : all_) {
      if (seen.place != place) continue;
      any = true;
      with(seen);
    }
    return any;
  }
  template <typename With>
  bool for_mapped(const Place& place, const With& with) {
    map_rest();
    const auto found = first_.find(place);
    if (found == first_.end()) return false;
    with(all_[found->second]);
    return true;
  }
  /// Maps what was noted since the last call. Drops what was noted already with the same version. What was noted with
  /// a later version stays, but unmapped: versions only grow, so the earlier one fails the next comparison.
  void map_rest() {
    std::size_t kept = mapped_;
    for (std::size_t i = mapped_; i < all_.size(); ++i) {
      const auto [first, added] = first_.try_emplace(all_[i].place, kept);
      if (added || all_[first->second].version != all_[i].version) all_[kept++] = all_[i];
    }
    all_.resize(kept);
    mapped_ = kept;
  }

  std::vector<Seen> all_;
  std::unordered_map<Place, std::size_t> first_;  ///< for the first `mapped_`: where in `all_` a place was noted first
  std::size_t mapped_ = 0;
};

}  // namespace granary::cc
