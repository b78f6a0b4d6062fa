#include "src/cluster/transaction/buffers.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "src/base/cache_line.h"

namespace granary::cluster {

BufferPool::BufferPool(memory::Region& region) {
  const std::size_t bytes = region.size() - region.used();
  free_.reserve(bytes / kChunkBytes);  // no two free chunks overlap, so there are never more of them
  if (bytes != 0) free_.push_back({region.take(bytes), bytes});
}

char* BufferPool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  char* memory = cut(bytes);
  if (memory == nullptr) [[unlikely]] {
    join_neighbours();
    memory = cut(bytes);
  }
  return memory;
}

/// Cuts `bytes` off the smallest free chunk that has so many; nullptr if there is none. The caller has the mutex.
char* BufferPool::cut(std::size_t bytes) {
  auto best = free_.end();
  for (auto chunk = free_.begin(); chunk != free_.end(); ++chunk) {
    if (chunk->bytes < bytes || (best != free_.end() && chunk->bytes >= best->bytes)) continue;
    best = chunk;
    if (best->bytes == bytes) break;
  }
  if (best == free_.end()) return nullptr;
  char* const memory = best->memory;
  best->memory += bytes;
  best->bytes -= bytes;
  if (best->bytes == 0) {
    *best = free_.back();
    free_.pop_back();
  }
  return memory;
}

/// Makes one chunk of free chunks that lie side by side. The caller has the mutex.
void BufferPool::join_neighbours() {
  if (free_.empty()) return;
  std::ranges::sort(free_, {}, &Chunk::memory);
  auto last = free_.begin();
  for (auto next = std::next(last); next != free_.end(); ++next) {
    if (last->memory + last->bytes == next->memory) {
      last->bytes += next->bytes;
    } else {
      *++last = *next;
    }
  }
  free_.erase(std::next(last), free_.end());
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
    const std::size_t chunk = BufferPool::whole_chunks(bytes);
    // The entry comes first, since the system may have no memory for it, and the chunk would be lost then.
    chunks_.push_back({nullptr, chunk});
    char* const memory = pool_.take(chunk);
    if (memory == nullptr) {
      chunks_.pop_back();
      return nullptr;
    }
    chunks_.back().memory = memory;
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
  // A large chunk is not kept: the transactions that a worker may have open could keep all of the pool otherwise.
  const bool keeps_first = !chunks_.empty() && chunks_.front().bytes == BufferPool::kChunkBytes;
  for (std::size_t i = keeps_first ? 1 : 0; i < chunks_.size(); ++i)
    pool_.give_back(chunks_[i].memory, chunks_[i].bytes);
  chunks_.resize(keeps_first ? 1 : 0);
  at_ = keeps_first ? chunks_.front().memory : nullptr;
  end_ = keeps_first ? at_ + chunks_.front().bytes : nullptr;
}

}  // namespace granary::cluster
