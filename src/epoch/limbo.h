#pragma once
// A worker's list of garbage that waits for its reclamation epoch (Silo 4.8). First in, first out: epochs
// are registered in ascending order, so only the front needs a look.

#include <cstddef>
#include <cstdint>
#include <deque>

#include "src/epoch/epoch.h"

namespace granary::epoch {

template <typename Garbage>
class LimboList {
 public:
  void add(Epoch epoch, const Garbage& garbage) { items_.push_back({epoch, garbage}); }

  /// Hands at most `budget` items whose epoch is ≤ `safe` to `reclaim`, oldest first. Returns how many.
  template <typename Reclaim>
  std::size_t reclaim(Epoch safe, std::size_t budget, Reclaim&& reclaim_one) {
    std::size_t done = 0;
    while (done < budget && !items_.empty() && items_.front().epoch <= safe) {
      Garbage garbage = items_.front().garbage;
      items_.pop_front();
      reclaim_one(garbage);
      ++done;
    }
    return done;
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

 private:
  struct Item {
    Epoch epoch;
    Garbage garbage;
  };
  std::deque<Item> items_;
};

}  // namespace granary::epoch
