#include "recovery/fold_parts.h"

#include "src/base/check.h"
#include "src/base/shared_parts.h"
#include "src/base/test_hooks.h"

namespace granary::recovery {

Folded fold_parts(txn::TableCore& table, std::string_view key, const MergedParts& parts) {
  record::Record* const record = record::record_of(table.index().find(key).value);
  const record::TidWord word = record == nullptr ? 0 : record->tid();
  const record::TidWord base = record::tid_of(word);
  if (!parts.any_newer(base)) return Folded::kDone;
  base::debug_invariant("I33", [&] { return parts.newest() > base; });
  if (record == nullptr || record::is_absent(word))
    return base::injected("replay-part-without-base") ? Folded::kDone : Folded::kNoBase;
  if (!parts.fit(base, record->size())) return Folded::kOtherSize;
  base::debug_invariant("I2", [&] { return !record::is_locked(word) && record::is_latest(word); });
  parts.each_newer(base, [&](std::uint32_t from, std::string_view bytes) {
    base::copy_part_to_shared(record->value_words(), from, bytes.data(), bytes.size());
  });
  record->store_tid(record::version_word(parts.newest(), /*removed=*/false));
  return Folded::kDone;
}

}  // namespace granary::recovery
