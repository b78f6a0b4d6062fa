#include "src/cc/index.h"

#include <algorithm>
#include <array>

#include "src/record/shared_record.h"

namespace granary::cc {

void Index::find_many_hashed(std::span<const std::string_view> keys, std::span<Lookup> results) const {
  std::array<kvstore::hash::Lookup, 16> found;
  while (!keys.empty()) {
    const std::size_t count = std::min(keys.size(), found.size());
    hash_->find_many(keys.first(count), {found.data(), count});
    std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), results.begin(), as_lookup);
    keys = keys.subspan(count);
    results = results.subspan(count);
  }
}

InsertResult Index::insert_hashed(std::string_view key, Value value, NodeMemory& memory) {
  using What = kvstore::hash::InsertResult::What;
  // Other nodes that read the slot compare the record's incarnation with it.
  const auto* const record = record::record_of(value);
  const std::uint64_t incarnation =
      record::is_shared(record) ? record::incarnation_of(base::load_word(&record->size_word)) : 0;
  const kvstore::hash::InsertResult inserted = hash_->insert_if_absent(key, value, memory, incarnation);
  InsertResult result;
  result.present = inserted.present;
  if (inserted.what == What::kPresent) return result;
  if (inserted.what == What::kOutOfMemory) {
    result.what = InsertResult::What::kOutOfMemory;
    return result;
  }
  result.what = InsertResult::What::kInserted;
  result.changes.add({.leaf = place_of(inserted.bucket),
                      .before = inserted.before | kBucketVersion,
                      .after = inserted.after | kBucketVersion});
  return result;
}

}  // namespace granary::cc
