// Verifies a table's structure. No thread changes the table meanwhile.

#include <set>
#include <string>

#include "kvstore/hash/table.h"

namespace granary::kvstore::hash {

using base::load_word;

namespace {

std::string complaint(std::uint64_t bucket, const char* what) {
  return "bucket " + std::to_string(bucket) + " " + what;
}

}  // namespace

std::string Table::check_chain(std::uint64_t number) const {
  const Bucket& main = main_[number];
  const Version version = load_word(&main.lines[0].opened);
  if (is_odd(version)) return complaint(number, "is locked");
  std::set<std::string> keys;
  for (const Bucket* bucket = &main; bucket != nullptr; bucket = next(*bucket)) {
    if (reinterpret_cast<std::uintptr_t>(bucket) % base::kCacheLine != 0)
      return complaint(number, "has a header that is not aligned to a cache line");
    for (const Line& line : bucket->lines) {
      if (load_word(&line.opened) != version || load_word(&line.closed) != version)
        return complaint(number, "has a line of another version");
    }
    for (unsigned i = 0; i < kSlots; ++i) {
      const Slot slot{load_word(&bucket->slot(i).key), load_word(&bucket->slot(i).entry)};
      const Entry entry(slot.entry);
      if (entry.type() == EntryType::kUnused) continue;
      if (entry.type() == EntryType::kHeader) return complaint(number, "has a link in a slot");
      const bool named = entry.type() == EntryType::kNamed;
      const std::string key(named ? at<Name>(entry.offset())->key()
                                  : std::string_view(reinterpret_cast<const char*>(&slot.key), sizeof slot.key));
      if (HashedKey(key).word != slot.key) return complaint(number, "has a name of another fingerprint");
      if (home_of(slot.key).bucket != number) return complaint(number, "has a key of another bucket");
      if (value_of(entry) == 0) return complaint(number, "has a key without a value");
      if (!keys.insert(key).second) return complaint(number, "has a key twice");
    }
  }
  return {};
}

std::string Table::check() const {
  for (std::uint64_t number = 0; number < main_.size(); ++number) {
    if (std::string wrong = check_chain(number); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace granary::kvstore::hash
