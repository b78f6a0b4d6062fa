#pragma once
// Keeps the state of a scan in one layer: a leaf's entries, copied under one version, and the bounds that still apply
// there.

#include <memory>
#include <optional>
#include <vector>

#include "kvstore/ordered/descend.h"

namespace granary::kvstore::ordered {

/// An end of the range as one layer sees it. It exists only in layers on the path of the bound's own slices.
struct Bound {
  LayerKey key;
  bool inclusive = true;
};
using LayerBound = std::optional<Bound>;

/// Returns whether the entry is before the bound (−1), at it (0) or after it (+1). For a link at the bound's own
/// position it returns 0: the entries below it have to be compared there.
inline int compare(const Entry& entry, const LayerKey& bound) {
  const Position at = entry.position();
  if (at != bound.at) return at < bound.at ? -1 : 1;
  if (entry.code != kSuffixed) return 0;
  const int order = entry.suffix()->bytes().compare(bound.suffix());
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

template <unsigned Width>
struct ScanFrame {
  Position low, high;          // the bounds of the leaf
  LeafNode<Width>* neighbour;  // in the direction of the scan
  unsigned count, next_rank;   // entries are in the direction of the scan
  LayerBound far;              // the end of the range
  Node* layer;                 // a node of the layer's left edge
  Entry entries[Width];
};

/// The frames from layer 0 to the present one. The first few need no allocation. Keys of 64 KiB can need 8192.
template <unsigned Width>
class ScanStack {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  ScanFrame<Width>& top() { return at(size_ - 1); }
  ScanFrame<Width>& push() {
    ++size_;
    if (size_ > kInline && deep_.size() < size_ - kInline) deep_.push_back(std::make_unique<ScanFrame<Width>>());
    return top();
  }
  void pop() { --size_; }
  void clear() { size_ = 0; }

 private:
  static constexpr std::size_t kInline = 4;
  ScanFrame<Width>& at(std::size_t i) { return i < kInline ? inline_[i] : *deep_[i - kInline]; }

  std::size_t size_ = 0;
  ScanFrame<Width> inline_[kInline];
  std::vector<std::unique_ptr<ScanFrame<Width>>> deep_;
};

/// Bytes that grow at the end. A few of them need no allocation.
class KeyBuffer {
 public:
  std::string_view view() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  void truncate(std::size_t size) { size_ = size; }
  void append(std::string_view bytes) {
    reserve(size_ + bytes.size());
    std::memcpy(data_ + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void append_slice(std::uint64_t slice, std::size_t bytes = kSliceBytes) {
    reserve(size_ + kSliceBytes);
    store_slice(data_ + size_, slice);
    size_ += bytes;
  }

 private:
  void reserve(std::size_t bytes) {
    if (bytes <= capacity_) return;
    capacity_ = 2 * bytes;
    auto larger = std::make_unique<char[]>(capacity_);
    std::memcpy(larger.get(), data_, size_);
    heap_ = std::move(larger);
    data_ = heap_.get();
  }

  static constexpr std::size_t kInline = 256;
  char inline_[kInline];
  std::unique_ptr<char[]> heap_;
  char* data_ = inline_;
  std::size_t size_ = 0;
  std::size_t capacity_ = kInline;
};

}  // namespace granary::kvstore::ordered
