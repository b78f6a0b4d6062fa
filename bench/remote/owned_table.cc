#include "bench/remote/owned_table.h"

#include "kvstore/hash/table.h"
#include "src/record/checksum.h"
#include "src/record/shared_change.h"

namespace granary::bench::remote {
namespace {

using kvstore::hash::Bucket;

constexpr rdma::RemoteAddress kRegionStart{.node = kOwner, .region = kTableRegion, .generation = 1, .offset = 0};
constexpr char kValueByte = 'v';

}  // namespace

OwnedTable::OwnedTable(const Data& data) : data_(data), layout_(data) {}

OwnedTable::Layout::Layout(const Data& data)
    : buckets(kvstore::hash::Table::buckets_for(data.keys)),
      record_bytes(record::shared_block_bytes(sizeof(std::uint64_t), data.value_bytes)),
      header(whole_extents(buckets * sizeof(Bucket))),
      records(whole_extents(data.keys * record_bytes)),
      peers(data.peers ? peer_bytes(buckets * kvstore::hash::kSlots, data.value_bytes) : 0) {}

std::uint64_t OwnedTable::bytes_for(const Data& data) { return Layout(data).known(); }

Result<std::unique_ptr<OwnedTable>> OwnedTable::make(const Data& data) {
  std::unique_ptr<OwnedTable> owned(new OwnedTable(data));
  const Layout& layout = owned->layout_;
  const std::uint64_t known = layout.known();
  const std::uint64_t all = known + layout.header + 16 * kExtent;  // indirect headers are rarely more than main ones
  auto region = memory::Region::map({.reserve_bytes = all, .prefault_bytes = known, .shared = true});
  if (!region.ok()) return region.status();
  owned->region_ = std::move(region).value();
  owned->main_ = owned->region_->take(layout.header);
  char* const first_record = owned->region_->take(layout.records);
  owned->tables_ = {
      .ours = {.main = kRegionStart.plus(static_cast<std::uint64_t>(owned->main_ - owned->region_->base())),
               .buckets = layout.buckets,
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

/// Makes the tables of other systems. It may run before the records are made, because their places are known.
Status OwnedTable::make_peers(const char* records) {
  const auto first = static_cast<std::uint64_t>(records - region_->base());
  const auto entry_of = [&](std::uint64_t key) {
    const std::uint64_t offset = first + key * layout_.record_bytes + offsetof(record::SharedRecord, head);
    return kvstore::hash::Entry(kvstore::hash::EntryType::kRecord, offset, /*incarnation=*/0).word();
  };
  auto peers = remote::make_peers(*region_, kRegionStart, layout_.buckets * kvstore::hash::kSlots, data_.keys,
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
  kvstore::hash::Table table({reinterpret_cast<Bucket*>(main_), layout_.buckets}, region_->base());
  const std::string value(data_.value_bytes, kValueByte);
  constexpr record::TidWord kTid = record::version_word(record::make_tid(1, 1), /*removed=*/false);
  for (std::uint64_t number = 0; number < data_.keys; ++number) {
    const std::string_view key(reinterpret_cast<const char*>(&number), sizeof number);
    auto& shared = *reinterpret_cast<record::SharedRecord*>(records + number * layout_.record_bytes);
    record::Record& made = record::make_unborn(shared, key);
    base::copy_to_shared(record::value_words(shared, key.size()), value.data(), value.size());
    record::store_tail(shared, kTid, value.size(), record::checksum_of_content(key, value));
    made.store_tid(kTid);
    (void)table.insert_if_absent(key, reinterpret_cast<kvstore::hash::Value>(&made), memory);
  }
}

}  // namespace granary::bench::remote
