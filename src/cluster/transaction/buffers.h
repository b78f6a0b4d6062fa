#pragma once
// Gives out memory that is registered with the fabric, for the one-sided operations of transactions. The bytes that
// READs fetch and that WRITEs send lie here until the transaction ends. Trips (trips.h) has the Buffers of a
// transaction.

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <granary/status.h>

#include "src/memory/region.h"

namespace granary::cluster {

/// The registered memory of a node, for all of its workers. Thread-safe; workers take whole chunks, which is seldom.
/// Free chunks are split as they are needed. They are joined only when none is large enough, so whatever sizes earlier
/// transactions took, all that is free can be had again. Neither taking nor giving back allocates.
class BufferPool {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
  static constexpr std::size_t whole_chunks(std::size_t bytes) {
    return (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  }

  /// Takes all that is left of `region`, which is registered as kBufferRegion.
  explicit BufferPool(memory::Region& region);

  /// Takes a chunk; nullptr if there is no such room. `bytes` is a multiple of kChunkBytes.
  char* take(std::size_t bytes);
  void give_back(char* chunk, std::size_t bytes);

 private:
  struct Chunk {
    char* memory;
    std::size_t bytes;
  };
  char* cut(std::size_t bytes);
  void join_neighbours();

  std::mutex mutex_;
  std::vector<Chunk> free_;  // guarded by mutex_; in no order
};

/// The registered memory of one transaction. Blocks stay where they are until clear().
class Buffers {
 public:
  explicit Buffers(BufferPool& pool) : pool_(pool) {}
  ~Buffers();
  /// `other` has no memory afterwards.
  Buffers(Buffers&& other) noexcept
      : pool_(other.pool_),
        chunks_(std::exchange(other.chunks_, {})),
        at_(std::exchange(other.at_, nullptr)),
        end_(std::exchange(other.end_, nullptr)) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// Allocates a block on a cache line's boundary; nullptr if the pool has no such room.
  void* allocate(std::size_t bytes);
  /// Returns how many bytes were taken from the pool.
  std::size_t bytes() const;
  /// Frees all blocks, and gives back all chunks but the first, if that is of kChunkBytes.
  void clear();

 private:
  struct Chunk {
    char* memory;
    std::size_t bytes;
  };
  BufferPool& pool_;
  std::vector<Chunk> chunks_;
  char* at_ = nullptr;  ///< in the last chunk
  char* end_ = nullptr;
};

}  // namespace granary::cluster
