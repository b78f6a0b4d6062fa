#pragma once
// One record with memory of its own.

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/record/record.h"

namespace granary::record {

class RecordBox {
 public:
  explicit RecordBox(std::size_t value_bytes) : words_(record_bytes(value_bytes) / base::kWord + 1) {}

  Record& operator*() { return *reinterpret_cast<Record*>(words_.data()); }
  Record* operator->() { return &**this; }

  void set(TidWord word, std::string_view value) {
    (*this)->set_size(value.size());
    base::copy_to_shared((*this)->value_words(), value.data(), value.size());
    (*this)->store_tid(word);
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace granary::record
