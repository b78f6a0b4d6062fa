#include "bench/hekaton/store.h"

namespace granary::bench::hekaton {

Row* StoreTransaction::find(const cc::Index& index, std::string_view key) {
  const store::PlaceKey place(&index, key);
  if (Row* const known = places_.find(place)) return known;
  record::Record* const record = access_.locate(index, key);
  if (record == nullptr) return nullptr;
  Row& row = row_of(*record);
  places_.remember(place, &row);
  return &row;
}

Row* StoreTransaction::find_or_make(cc::Index& index, std::string_view key, std::size_t value_bytes,
                                    std::uint32_t versions) {
  row_bytes_.resize(Row::bytes_for(value_bytes, versions));
  Row::make_absent(row_bytes_, value_bytes, versions);
  record::Record* const record = access_.insert(index, key, {row_bytes_.data(), row_bytes_.size()}).first;
  if (record == nullptr) {
    transaction_.fail(AbortReason::kOutOfMemory);
    return nullptr;
  }
  places_.remember({&index, key}, &row_of(*record));
  return &row_of(*record);
}

Result<std::unique_ptr<HekatonStore>> HekatonStore::open(const Options& options) {
  Result<std::unique_ptr<kv::Store>> store = kv::Store::open(options);
  if (!store.ok()) return store.status();
  return std::make_unique<HekatonStore>(std::move(*store));
}

}  // namespace granary::bench::hekaton
