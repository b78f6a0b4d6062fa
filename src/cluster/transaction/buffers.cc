#include "src/cluster/transaction/buffers.h"

#include <algorithm>
#include <numeric>

#include "src/base/cache_line.h"

namespace granary::cluster {

char* BufferPool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits =
      std::find_if(free_.begin(), free_.end(), [bytes](const Chunk& chunk) { return chunk.bytes == bytes; });
  if (fits == free_.end()) return region_.take(bytes);
  char* const memory = fits->memory;
  *fits = free_.back();
  free_.pop_back();
  return memory;
}

void BufferPool::give_back(char* chunk, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_.push_back({chunk, bytes});
}

Buffers::~Buffers() {
  for (const Chunk& chunk : chunks_) pool_.give_back(chunk.memory, chunk.bytes);
}

void* Buffers::allocate(std::size_t bytes) {
  bytes = (bytes + base::kCacheLine - 1) / base::kCacheLine * base::kCacheLine;
  if (bytes > static_cast<std::size_t>(end_ - at_)) {
    const std::size_t chunk = (bytes + BufferPool::kChunkBytes - 1) / BufferPool::kChunkBytes * BufferPool::kChunkBytes;
    char* const memory = pool_.take(chunk);
    if (memory == nullptr) return nullptr;
    chunks_.push_back({memory, chunk});
    at_ = memory;
    end_ = memory + chunk;
  }
  void* const block = at_;
  at_ += bytes;
  return block;
}

std::size_t Buffers::bytes() const {
  return std::accumulate(chunks_.begin(), chunks_.end(), std::size_t{0},
                         [](std::size_t sum, const Chunk& chunk) { return sum + chunk.bytes; });
}

void Buffers::clear() {
  if (chunks_.empty()) return;
  for (std::size_t i = 1; i < chunks_.size(); ++i) pool_.give_back(chunks_[i].memory, chunks_[i].bytes);
  chunks_.resize(1);
  at_ = chunks_.front().memory;
  end_ = at_ + chunks_.front().bytes;
}

}  // namespace granary::cluster
