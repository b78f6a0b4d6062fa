#pragma once
// The writes of a transaction, row by row, for baselines whose rows lie in records of the bare index.

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
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
    if (!filter_[slot_of(row)]) return nullptr;
    const auto found = std::find_if(begin(), end(), [&](const Write& write) { return write.row == &row; });
    return found == end() ? nullptr : &*found;
  }
  /// Adds a write of a row that has none. Its value is that of a former write until the caller sets it, which it does
  /// before it looks for the write again.
  void add(Row& row) {
    if (used_ == writes_.size()) writes_.emplace_back();
    writes_[used_].row = &row;
    writes_[used_++].removes = false;
    filter_.set(slot_of(row));
  }
  void clear() {
    used_ = 0;
    filter_.reset();
  }

  auto begin() { return writes_.begin(); }
  auto end() { return writes_.begin() + static_cast<std::ptrdiff_t>(used_); }
  auto begin() const { return writes_.begin(); }
  auto end() const { return writes_.begin() + static_cast<std::ptrdiff_t>(used_); }

 private:
  static constexpr unsigned kFilterBits = 10;
  static std::size_t slot_of(const Row& row) {
    return (reinterpret_cast<std::uintptr_t>(&row) * 0x9E3779B97F4A7C15ull) >> (64 - kFilterBits);
  }

  std::bitset<std::size_t{1} << kFilterBits> filter_;  // most rows that are looked for are not there
  std::vector<Write> writes_;
  std::size_t used_ = 0;  // how many of writes_ are used; the strings of the others are used again
};

}  // namespace granary::bench::kv
