#pragma once
// The writes of a transaction, row by row, for baselines whose rows lie in records of the bare index.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace granary::bench::kv {

template <typename Row>
class RowWrites {
 public:
  struct Write {
    Row* row;
    std::string value;
    bool removes = false;  ///< whether the row is taken away, whatever the value
  };

  /// Returns the write of this row, or nullptr. Valid until the next add().
  Write* find(const Row& row) {
    const auto found = std::find_if(begin(), end(), [&](const Write& write) { return write.row == &row; });
    return found == end() ? nullptr : &*found;
  }
  /// Adds a write of a row that has none. Its value is an old one until it is set.
  void add(Row& row) {
    if (used_ == writes_.size()) writes_.emplace_back();
    writes_[used_].row = &row;
    writes_[used_++].removes = false;
  }
  void clear() { used_ = 0; }

  auto begin() { return writes_.begin(); }
  auto end() { return writes_.begin() + static_cast<std::ptrdiff_t>(used_); }
  auto begin() const { return writes_.begin(); }
  auto end() const { return writes_.begin() + static_cast<std::ptrdiff_t>(used_); }

 private:
  std::vector<Write> writes_;
  std::size_t used_ = 0;  // how many of writes_ are used; the strings of the others are used again
};

}  // namespace granary::bench::kv
