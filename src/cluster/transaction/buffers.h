#pragma once
// Registered memory for the operations of transactions: what READs fetch and what WRITEs send lies here until its transaction ends.

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <granary/status.h>

#include "src/memory/region.h"

namespace granary::cluster {

/// A node's. Thread-safe; workers come by seldom, for whole chunks.
class BufferPool {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  /// Cuts chunks off the region, which is registered (kBufferRegion).
  explicit BufferPool(memory::Region& region) : region_(region) {}

  /// `bytes` is a multiple of kChunkBytes; nullptr when the region is used up.
  char* take(std::size_t bytes);
  void give_back(char* chunk, std::size_t bytes);

 private:
  struct Chunk {
    char* memory;
    std::size_t bytes;
  };
  memory::Region& region_;
  std::mutex mutex_;
  std::vector<Chunk> free_;
};

/// A transaction's: addresses stay until clear().
class Buffers {
 public:
  explicit Buffers(BufferPool& pool) : pool_(pool) {}
  ~Buffers();
  /// The other one has none afterwards.
  Buffers(Buffers&& other) noexcept
      : pool_(other.pool_),
        chunks_(std::exchange(other.chunks_, {})),
        at_(std::exchange(other.at_, nullptr)),
        end_(std::exchange(other.end_, nullptr)) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// On a cache line's boundary; nullptr when the pool is used up.
  void* allocate(std::size_t bytes);
  /// Taken from the pool.
  std::size_t bytes() const;
  /// Forgets everything; keeps the first chunk.
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
