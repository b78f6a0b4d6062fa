#include "kvstore/hash/table.h"

namespace granary::kvstore::hash {

Name* Table::make_name(const HashedKey& key, Value value, NodeMemory& memory) const {
  auto* const name = static_cast<Name*>(memory.allocate(sizeof(Name) + base::round_up_to_word(key.bytes.size())));
  if (name == nullptr) return nullptr;
  name->size = key.bytes.size();
  if (!key.bytes.empty()) std::memcpy(name->bytes(), key.bytes.data(), key.bytes.size());
  base::store_word(&name->value, value);
  return name;
}

TableStatistics Table::statistics() const {
  TableStatistics counted{.buckets = main_.size()};
  for (const Bucket& main : main_) {
    for (const Bucket* bucket = &main; bucket != nullptr; bucket = next(*bucket)) {
      if (bucket != &main) ++counted.indirect_headers;
      for (unsigned i = 0; i < kSlots; ++i) {
        if (Entry(base::load_word(&bucket->slot(i).entry)).type() == EntryType::kUnused) continue;
        ++counted.keys;
        if (bucket == &main) ++counted.keys_in_main;
      }
    }
  }
  return counted;
}

}  // namespace granary::kvstore::hash
