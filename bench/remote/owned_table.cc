#include "bench/remote/owned_table.h"

#include "kvstore/hash/table.h"
#include "src/record/shared_change.h"

namespace granary::bench::remote {
namespace {

using kvstore::hash::Bucket;

constexpr rdma::RemoteAddress kRegionStart{.node = kOwner, .region = kTableRegion, .generation = 1, .offset = 0};
constexpr char kValueByte = 'v';

}  // namespace

OwnedTable::OwnedTable(const Data& data)
    : data_(data),
      buckets_(kvstore::hash::Table::buckets_for(data.keys)),
      record_bytes_(record::shared_block_bytes(sizeof(std::uint64_t), data.value_bytes)) {}

Result<std::unique_ptr<OwnedTable>> OwnedTable::make(const Data& data) {
  std::unique_ptr<OwnedTable> owned(new OwnedTable(data));
  const std::uint64_t header = whole_extents(owned->buckets_ * sizeof(Bucket));
  const std::uint64_t records = whole_extents(data.keys * owned->record_bytes_);
  const std::uint64_t peers = data.peers ? peer_bytes(owned->buckets_ * kvstore::hash::kSlots, data.value_bytes) : 0;
  const std::uint64_t known = header + records + peers;
  const std::uint64_t all = known + header + 16 * kExtent;  // indirect headers: rarely more than main ones
  auto region = memory::Region::map({.reserve_bytes = all, .prefault_bytes = known, .shared = true});
  if (!region.ok()) return region.status();
  owned->region_ = std::move(region).value();
  owned->main_ = owned->region_->take(header);
  char* const first_record = owned->region_->take(records);
  owned->tables_ = {
      .ours = {.main = kRegionStart.plus(static_cast<std::uint64_t>(owned->main_ - owned->region_->base())),
               .buckets = owned->buckets_,
               .owner_base = reinterpret_cast<std::uint64_t>(owned->region_->base()),
               .max_value_bytes = data.value_bytes},
      .peers = {},
      .bytes = known};
  if (data.peers) {
    if (Status status = owned->make_peers(first_record); !status.ok()) return status;
  }
  owned->fill(first_record);
  return owned;
}

/// Before the records are made: where they will lie is known.
Status OwnedTable::make_peers(const char* records) {
  const auto first = static_cast<std::uint64_t>(records - region_->base());
  const auto entry_of = [&](std::uint64_t key) {
    const std::uint64_t offset = first + key * record_bytes_ + offsetof(record::SharedRecord, head);
    return kvstore::hash::Entry(kvstore::hash::EntryType::kRecord, offset, /*incarnation=*/0).word();
  };
  auto peers = remote::make_peers(*region_, kRegionStart, buckets_ * kvstore::hash::kSlots, data_.keys,
                                  std::string(data_.value_bytes, kValueByte), entry_of);
  if (!peers.ok()) return peers.status();
  tables_.peers = *peers;
  return {};
}

void OwnedTable::fill(char* records) {
  memory::SlabPool slabs(*region_, {});
  epoch::EpochManager epochs({});
  memory::SlabCache cache(slabs);
  kvstore::NodeMemory memory(cache, epochs);
  kvstore::hash::Table table({reinterpret_cast<Bucket*>(main_), buckets_}, region_->base());
  const std::string value(data_.value_bytes, kValueByte);
  constexpr record::TidWord kTid = record::version_word(record::make_tid(1, 1), /*removed=*/false);
  for (std::uint64_t number = 0; number < data_.keys; ++number) {
    const std::string_view key(reinterpret_cast<const char*>(&number), sizeof number);
    auto& shared = *reinterpret_cast<record::SharedRecord*>(records + number * record_bytes_);
    record::Record& made = record::make_unborn(shared, key);
    base::copy_to_shared(record::value_words(shared, key.size()), value.data(), value.size());
    record::store_tail(shared, kTid, value.size(), record::checksum_of_content(key, value));
    made.store_tid(kTid);
    (void)table.insert_if_absent(key, reinterpret_cast<kvstore::hash::Value>(&made), memory);
  }
}

}  // namespace granary::bench::remote
