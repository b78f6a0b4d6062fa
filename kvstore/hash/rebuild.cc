// Grows a table offline: a wider main header takes over all keys, and the entries stay where they are.

#include "kvstore/hash/change.h"

namespace granary::kvstore::hash {

using base::load_word;
using base::store_word;

bool Table::move_all(Table* to, NodeMemory& memory) const {
  for (const Bucket& main : main_) {
    for (const Bucket* bucket = &main; bucket != nullptr; bucket = next(*bucket)) {
      for (unsigned i = 0; i < kSlots; ++i) {
        const Slot from{load_word(&bucket->slot(i).key), load_word(&bucket->slot(i).entry)};
        if (Entry(from.entry).type() == EntryType::kUnused) continue;
        const Home home = to->home_of(from.key);
        Change change(*to, to->main_[home.bucket]);
        Slot* slot = change.free_slot(home.line);
        Bucket* const header = slot == nullptr ? static_cast<Bucket*>(memory.allocate(sizeof(Bucket))) : nullptr;
        if (slot == nullptr && header == nullptr) return false;
        change.open();
        if (header != nullptr) {
          change.append(*header);
          slot = &header->lines[home.line].slots[0];
        }
        store_word(&slot->key, from.key);
        store_word(&slot->entry, from.entry);
      }
    }
  }
  return true;
}

/// Frees the indirect headers at once, since no other thread uses the table.
void Table::free_headers(NodeMemory& memory) {
  for (const Bucket& main : main_) {
    for (Bucket* bucket = next(main); bucket != nullptr;) {
      Bucket* const behind = next(*bucket);
      memory.free_unpublished(bucket);
      bucket = behind;
    }
  }
}

bool Table::rebuild(std::span<Bucket> main, NodeMemory& memory) {
  Table wider(main, reinterpret_cast<const void*>(base_));
  const bool moved = move_all(&wider, memory);
  Table& abandoned = moved ? *this : wider;
  abandoned.free_headers(memory);
  if (moved) main_ = main;
  return moved;
}

}  // namespace granary::kvstore::hash
