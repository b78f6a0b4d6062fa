#pragma once
// A table that a store may have split by partition: one physical table for all partitions, or one for each.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace granary::bench::store {

template <typename Table>
class Spread {
 public:
  using Part = Table;

  void add(Table part) {
    parts_.push_back(part);
    stride_ = parts_.size() == 1 ? 0 : 1;
  }
  /// Returns the table that holds this partition's rows. Partitions count from 0.
  const Table& operator[](std::uint32_t partition) const { return parts_[partition * stride_]; }
  std::size_t parts() const { return parts_.size(); }

 private:
  std::vector<Table> parts_;
  std::size_t stride_ = 0;
};

}  // namespace granary::bench::store
