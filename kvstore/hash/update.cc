// Inserts, replaces and removes keys.

#include "kvstore/hash/change.h"

namespace granary::kvstore::hash {

using base::load_word;
using base::store_word;

InsertResult Table::insert_if_absent(std::string_view key, Value value, NodeMemory& memory, std::uint64_t incarnation) {
  const HashedKey hashed(key);
  const Home home = home_of(hashed.word);
  Bucket& main = main_[home.bucket];
  Change change(*this, main);
  if (const Slot* present = change.find(hashed)) {
    return {.what = InsertResult::What::kPresent, .present = value_of(Entry(load_word(&present->entry)))};
  }
  // All memory is allocated before the first store, so there is nothing to undo in the chain.
  const bool named = hashed.type() == EntryType::kNamed;
  Name* const name = named ? make_name(hashed, value, memory) : nullptr;
  Slot* slot = change.free_slot(home.line);
  Bucket* const header = slot == nullptr ? static_cast<Bucket*>(memory.allocate(sizeof(Bucket))) : nullptr;
  if ((named && name == nullptr) || (slot == nullptr && header == nullptr)) {
    if (name != nullptr) memory.free_unpublished(name);
    if (header != nullptr) memory.free_unpublished(header);
    return {.what = InsertResult::What::kOutOfMemory};
  }
  change.open();
  if (header != nullptr) {
    change.append(*header);
    slot = &header->lines[home.line].slots[0];
  }
  const std::uint64_t offset = named ? offset_of(name) : offset_of(reinterpret_cast<const void*>(value));
  store_word(&slot->key, hashed.word);
  store_word(&slot->entry, Entry(hashed.type(), offset, incarnation).word());
  return {.what = InsertResult::What::kInserted, .bucket = &main, .before = change.before(), .after = change.after()};
}

bool Table::replace(std::string_view key, Value expected, Value desired, std::uint64_t incarnation) {
  const HashedKey hashed(key);
  Change change(*this, main_[home_of(hashed.word).bucket]);
  Slot* const slot = change.find(hashed);
  if (slot == nullptr || value_of(Entry(load_word(&slot->entry))) != expected) return false;
  change.open();
  std::uint64_t offset = Entry(load_word(&slot->entry)).offset();
  if (hashed.type() == EntryType::kNamed) {
    store_word(&at<Name>(offset)->value, desired);
  } else {
    offset = offset_of(reinterpret_cast<const void*>(desired));
  }
  store_word(&slot->entry, Entry(hashed.type(), offset, incarnation).word());
  return true;
}

bool Table::remove(std::string_view key, Value expected, NodeMemory& memory) {
  const HashedKey hashed(key);
  Change change(*this, main_[home_of(hashed.word).bucket]);
  Slot* const slot = change.find(hashed);
  const Entry entry(slot == nullptr ? 0 : load_word(&slot->entry));
  if (slot == nullptr || value_of(entry) != expected) return false;
  change.open();
  store_word(&slot->entry, Entry().word());
  store_word(&slot->key, 0);
  if (entry.type() == EntryType::kNamed) memory.retire(at<Name>(entry.offset()));
  return true;
}

}  // namespace granary::kvstore::hash
