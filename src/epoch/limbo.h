#pragma once
// Keeps a worker's list of garbage that waits for its reclamation epoch (Silo 4.8). The list is first in, first out:
// epochs are registered in ascending order, so only the front has to be looked at.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "src/epoch/epoch.h"

namespace granary::epoch {

/// A list of items in a chain of chunks. Chunks that have become empty are kept, up to a limit, and filled again, so a
/// list of steady length allocates nothing.
template <typename Garbage>
class LimboList {
 public:
  LimboList() = default;
  LimboList(const LimboList&) = delete;
  LimboList& operator=(const LimboList&) = delete;
  ~LimboList() {
    drop_all(first_);
    drop_all(spare_);
  }

  /// Throws std::bad_alloc if the system has no memory for the list.
  void add(Epoch epoch, const Garbage& garbage) {
    if (!try_add(epoch, garbage)) throw std::bad_alloc();
  }
  /// Returns false, and adds nothing, if the system has no memory for the list.
  [[nodiscard]] bool try_add(Epoch epoch, const Garbage& garbage) {
    if ((end_ == kItems || last_ == nullptr) && !append_chunk()) return false;
    last_->items[end_++] = {epoch, garbage};
    ++size_;
    return true;
  }

  /// Hands at most `budget` items whose epoch is ≤ `safe` to `reclaim_one`, oldest first. Returns how many there were.
  template <typename Reclaim>
  std::size_t reclaim(Epoch safe, std::size_t budget, Reclaim&& reclaim_one) {
    std::size_t done = 0;
    while (done < budget && size_ != 0 && first_->items[begin_].epoch <= safe) {
      const Garbage garbage = std::move(first_->items[begin_].garbage);
      drop_front();
      reclaim_one(garbage);
      ++done;
    }
    return done;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr std::size_t kItems = 128;     ///< how many items a chunk has
  static constexpr std::size_t kMostSpare = 64;  ///< how many empty chunks are kept to be filled again
  struct Item {
    Epoch epoch = 0;
    Garbage garbage{};
  };
  struct Chunk {
    std::array<Item, kItems> items{};
    Chunk* next = nullptr;
  };

  bool append_chunk() {
    Chunk* chunk = spare_;
    if (chunk == nullptr) {
      chunk = new (std::nothrow) Chunk;
      if (chunk == nullptr) return false;
    } else {
      spare_ = std::exchange(chunk->next, nullptr);
      --spares_;
    }
    (last_ == nullptr ? first_ : last_->next) = chunk;
    last_ = chunk;
    end_ = 0;
    return true;
  }
  void drop_front() {
    --size_;
    if (++begin_ != kItems) return;
    begin_ = 0;
    Chunk* const empty = std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = nullptr;
    if (spares_ == kMostSpare) {
      delete empty;
      return;
    }
    empty->next = std::exchange(spare_, empty);
    ++spares_;
  }
  static void drop_all(Chunk* chunk) {
    while (chunk != nullptr) delete std::exchange(chunk, chunk->next);
  }

  Chunk* first_ = nullptr;  ///< the chunks with items, oldest first; the list owns them, and the spare ones
  Chunk* last_ = nullptr;
  std::size_t begin_ = 0;  ///< where the items of the first chunk begin
  std::size_t end_ = 0;    ///< where the items of the last chunk end
  std::size_t size_ = 0;
  Chunk* spare_ = nullptr;
  std::size_t spares_ = 0;
};

}  // namespace granary::epoch
