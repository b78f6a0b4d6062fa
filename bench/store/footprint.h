#pragma once
// The partitions that a transaction will touch, known before it starts (Silo 5.4: "perfect knowledge").

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace granary::bench::store {

/// A small set of partition numbers in ascending order.
class Footprint {
 public:
  static constexpr std::size_t kMost = 16;

  Footprint() = default;
  Footprint(std::initializer_list<std::uint32_t> partitions) {
    for (const std::uint32_t partition : partitions) add(partition);
  }

  /// Adds a partition. Precondition: at most kMost different ones are added.
  void add(std::uint32_t partition) {
    std::size_t at = size_;
    while (at != 0 && partitions_[at - 1] > partition) --at;
    if (at != 0 && partitions_[at - 1] == partition) return;
    for (std::size_t i = size_; i > at; --i) partitions_[i] = partitions_[i - 1];
    partitions_[at] = partition;
    ++size_;
  }

  const std::uint32_t* begin() const { return partitions_.data(); }
  const std::uint32_t* end() const { return partitions_.data() + size_; }
  std::size_t size() const { return size_; }

 private:
  std::array<std::uint32_t, kMost> partitions_;  // the first size_ are set
  std::size_t size_ = 0;
};

}  // namespace granary::bench::store
