#pragma once
// Rows in memory of their own, without an index.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/dta/row.h"

namespace granary::bench::dta {

class Rows {
 public:
  /// With values that are all zero.
  Rows(std::size_t count, std::size_t value_bytes) : memory_(count) {
    for (auto& words : memory_) {
      words.resize((Row::bytes_for(value_bytes) + 7) / 8);
      Row::make({reinterpret_cast<char*>(words.data()), words.size() * 8}, std::string(value_bytes, '\0'));
    }
  }
  std::size_t size() const { return memory_.size(); }
  Row& operator[](std::size_t i) { return *reinterpret_cast<Row*>(memory_[i].data()); }

 private:
  std::vector<std::vector<std::uint64_t>> memory_;
};

}  // namespace granary::bench::dta
