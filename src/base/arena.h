#pragma once
// Allocates the things that one transaction needs until it ends: keys, values, batches of steps. It is a bump
// allocator. Addresses stay valid until clear().

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace granary::base {

class Arena {
 public:
  static constexpr std::size_t kAlignment = 8;

  /// Returns memory aligned to kAlignment, whose contents are undefined.
  char* allocate(std::size_t bytes) {
    bytes = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    if (bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]]
      grow(bytes);
    char* const block = at_;
    at_ += bytes;
    return block;
  }

  /// Returns a private copy of `text`.
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* const block = allocate(text.size());
    std::memcpy(block, text.data(), text.size());
    return {block, text.size()};
  }

  /// Whether nothing was allocated since clear().
  bool empty() const { return at_ == first_; }
  /// Forgets everything. Keeps one chunk for the next time, large enough for as much, if that is at most kMostKept.
  void clear() {
    if (chunks_.size() > 1) [[unlikely]]
      keep_one();
    at_ = first_;
  }

 private:
  static constexpr std::size_t kChunk = 32 * 1024;
  static constexpr std::size_t kMostKept = 1024 * 1024;
  struct Chunk {
    std::unique_ptr<char[]> memory;
    std::size_t size;
  };
  void use(const Chunk& chunk) {
    at_ = chunk.memory.get();
    end_ = at_ + chunk.size;
  }
  /// Keeps one chunk, as large as all of them, or the first one if that is too much or there is no memory for it.
  void keep_one() noexcept {
    std::size_t all = 0;
    for (const Chunk& chunk : chunks_) all += chunk.size;
    chunks_.resize(1);
    if (all <= kMostKept) {
      if (std::unique_ptr<char[]> whole(new (std::nothrow) char[all]); whole != nullptr)
        chunks_.front() = {std::move(whole), all};
    }
    use(chunks_.front());
    first_ = at_;
  }
  void grow(std::size_t bytes) {
    const std::size_t size =
        chunks_.empty() ? (bytes > kChunk ? bytes : kChunk) : (bytes > 4 * kChunk ? bytes : 4 * kChunk);
    chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    use(chunks_.back());
    if (chunks_.size() == 1) first_ = at_;
  }

  std::vector<Chunk> chunks_;
  char* first_ = nullptr;  // where the first chunk begins
  char* at_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace granary::base
