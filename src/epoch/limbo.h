#pragma once
// A worker's list of garbage that waits for its reclamation epoch (Silo 4.8). First in, first out: epochs
// are registered in ascending order, so only the front needs a look.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/epoch/epoch.h"

namespace granary::epoch {

/// Its memory is chunks. Those that have become empty are filled again, so that a list of steady length allocates nothing.
template <typename Garbage>
class LimboList {
 public:
  void add(Epoch epoch, const Garbage& garbage) {
    const std::size_t at = first_ + size_++;
    if (at / kItems == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
    (*chunks_[at / kItems])[at % kItems] = {epoch, garbage};
  }

  /// Hands at most `budget` items whose epoch is ≤ `safe` to `reclaim`, oldest first. Returns how many.
  template <typename Reclaim>
  std::size_t reclaim(Epoch safe, std::size_t budget, Reclaim&& reclaim_one) {
    std::size_t done = 0;
    while (done < budget && size_ != 0 && front().epoch <= safe) {
      const Garbage garbage = std::move(front().garbage);
      drop_front();
      reclaim_one(garbage);
      ++done;
    }
    return done;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr std::size_t kItems = 128;     ///< of a chunk
  static constexpr std::size_t kMostSpare = 64;  ///< chunks that are kept to be filled again
  struct Item {
    Epoch epoch = 0;
    Garbage garbage{};
  };
  using Chunk = std::array<Item, kItems>;

  Item& front() { return (*chunks_.front())[first_]; }
  void drop_front() {
    --size_;
    if (++first_ != kItems) return;
    first_ = 0;
    std::rotate(chunks_.begin(), chunks_.begin() + 1, chunks_.end());
    if (chunks_.size() > size_ / kItems + 1 + kMostSpare) chunks_.pop_back();
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;  ///< those that are filled, then spare ones
  std::size_t first_ = 0;                       ///< of the items, in the first chunk
  std::size_t size_ = 0;
};

}  // namespace granary::epoch
