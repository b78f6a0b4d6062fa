#include "recovery/pending_parts.h"

#include <algorithm>
#include <functional>

namespace granary::recovery {
namespace {

/// The lowest bits of a hash choose the shard, those above them the slot. The upper half of the hash stands in the
/// slot.
constexpr unsigned kShardBits = 8;
constexpr std::uint64_t kUpperHalf = ~std::uint64_t{0} << 32;

std::uint64_t hash_of(std::uint32_t table, std::string_view key) {
  return (std::hash<std::string_view>()(key) ^ table) * 0x9E3779B97F4A7C15u;
}

void put_into_slot(std::vector<std::uint64_t>& slots, std::uint64_t hash, std::uint64_t number) {
  std::uint64_t at = hash >> kShardBits;
  while (slots[at & (slots.size() - 1)] != 0) ++at;
  slots[at & (slots.size() - 1)] = (hash & kUpperHalf) | number;
}

}  // namespace

void PendingParts::grow(Shard& shard) {
  constexpr std::size_t kFirst = 64;
  shard.slots.assign(std::max(2 * shard.slots.size(), kFirst), 0);
  std::uint64_t number = 0;
  for (const Pending& record : shard.records) put_into_slot(shard.slots, record.hash, ++number);
}

PendingParts::Pending& PendingParts::find_or_add(Shard& shard, std::uint64_t hash, std::uint32_t table,
                                                 std::string_view key) {
  if (2 * shard.records.size() >= shard.slots.size()) grow(shard);
  for (std::uint64_t at = hash >> kShardBits;; ++at) {
    const std::uint64_t slot = shard.slots[at & (shard.slots.size() - 1)];
    if (slot == 0) break;
    if (((slot ^ hash) & kUpperHalf) != 0) continue;
    Pending& record = shard.records[(slot & ~kUpperHalf) - 1];
    if (record.table == table && record.key == key) return record;
  }
  constexpr std::size_t kSlots = 4;  // how many slots a record takes at most
  memory_bytes_.fetch_add(sizeof(Pending) + key.size() + kSlots * sizeof hash, std::memory_order_relaxed);
  shard.records.push_back({.hash = hash, .table = table, .key = std::string(key), .parts = {}, .file = nullptr});
  put_into_slot(shard.slots, hash, shard.records.size());
  return shard.records.back();
}

bool PendingParts::add(std::uint32_t table, const LoggedWrite& part, const std::string& file) {
  static_assert(kShards == 1 << kShardBits);
  const std::uint64_t hash = hash_of(table, part.key);
  Shard& shard = shards_[hash % kShards];
  const std::lock_guard lock(shard.mutex);
  Pending& record = find_or_add(shard, hash, table, part.key);
  const std::uint64_t before = record.parts.memory_bytes();
  if (part.tid >= record.parts.newest()) record.file = &file;
  record.parts.add(part.tid, *part.part, part.value);
  // The parts may take less memory than before. Then the difference wraps around, and so does the sum.
  memory_bytes_.fetch_add(record.parts.memory_bytes() - before, std::memory_order_relaxed);
  if (memory_bytes_.load(std::memory_order_relaxed) <= limit_bytes_) return true;
  overflowed_.store(true, std::memory_order_relaxed);
  return false;
}

}  // namespace granary::recovery
