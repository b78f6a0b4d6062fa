#include "src/cc/write_set.h"

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

/// Sees to it that one more entry has a slot.
void WriteSet::reserve_slot() {
  const std::size_t entries = entries_.size() + 1;
  if (entries * 2 <= slots_.size()) return;
  slots_.assign(std::bit_ceil(entries * 4), 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) place(static_cast<std::uint32_t>(i));
}

}  // namespace granary::cc
