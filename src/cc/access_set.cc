#include "src/cc/access_set.h"

#include <bit>

namespace granary::cc {

WriteEntry* WriteSet::find_hashed(const Record* record) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = (hash(record) >> 20) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    WriteEntry& entry = entries_[slots_[at] - 1];
    if (entry.record == record) return &entry;
  }
  return nullptr;
}

void WriteSet::place(std::uint32_t index) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (hash(entries_[index].record) >> 20) & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = index + 1;
}

void WriteSet::index_last() {
  if (entries_.size() * 2 > slots_.size()) {
    rehash();
  } else {
    place(static_cast<std::uint32_t>(entries_.size() - 1));
  }
}

void WriteSet::rehash() {
  slots_.assign(std::bit_ceil(entries_.size() * 4), 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) place(static_cast<std::uint32_t>(i));
}

}  // namespace granary::cc
