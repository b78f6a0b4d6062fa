#pragma once
// The node set (Silo 4.6) has the places of indexes, here or at other nodes, where a transaction has seen keys or missed one, each with
// the version under which it did.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace granary::cc {

/// What an insert has done to a place. `made`: it is new, and has taken over keys of `split_from`.
template <typename Place>
struct PlaceChange {
  Place place;
  std::uint64_t before = 0;  ///< not of a new one
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
  /// Whether that was noted last, so that it need not be noted again.
  bool is_last(const Place& place, std::uint64_t version) const {
    return !all_.empty() && all_.back().place == place && all_.back().version == version;
  }
  /// Notes a place at most once. False if it was seen at another version.
  bool note_once(const Place& place, std::uint64_t version) {
    for (const Seen& seen : all_) {
      if (seen.place == place) return seen.version == version;
    }
    note(place, version);
    return true;
  }
  /// Brings the set in step with an insert of the transaction's own: a place seen before it changes only its version; keys that moved to
  /// a new place are watched there, too. False if somebody else had changed the place meanwhile: a phantom.
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
