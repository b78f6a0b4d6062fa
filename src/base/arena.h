#pragma once
// A bump allocator for the keys and values that one transaction buffers. Addresses stay valid until clear().

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace granary::base {

class Arena {
 public:
  /// 8-byte aligned memory, contents undefined.
  char* allocate(std::size_t bytes) {
    bytes = (bytes + 7) & ~std::size_t{7};
    if (bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]]
      grow(bytes);
    char* const block = at_;
    at_ += bytes;
    return block;
  }

  /// A private copy of `text`.
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* const block = allocate(text.size());
    std::memcpy(block, text.data(), text.size());
    return {block, text.size()};
  }

  /// Forgets everything; keeps the first chunk.
  void clear() {
    if (chunks_.size() > 1) [[unlikely]] {
      chunks_.resize(1);
      use(chunks_.front());
    }
    at_ = first_;
  }

 private:
  static constexpr std::size_t kChunk = 32 * 1024;
  struct Chunk {
    std::unique_ptr<char[]> memory;
    std::size_t size;
  };
  void use(const Chunk& chunk) {
    at_ = chunk.memory.get();
    end_ = at_ + chunk.size;
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
