#include "kvstore/remote/header_sweep.h"

#include <algorithm>

#include "src/base/test_hooks.h"

namespace granary::kvstore::remote {
namespace {

using hash::Entry;

/// Calls `visit` with each slot that leads to a record, in those lines of the copy that are whole.
template <typename Visit>
void for_each_record(const hash::Bucket& copy, Visit&& visit) {
  for (unsigned number = 0; number < hash::kLines; ++number) {
    const hash::Line& line = copy.lines[number];
    const bool whole = line.closed == line.opened && !hash::is_odd(line.closed);
    if (!whole && !base::injected("sweep-takes-torn-lines")) continue;
    for (unsigned slot = 0; slot < hash::slots_in(number); ++slot) {
      if (Entry(line.slots[slot].entry).type() == hash::EntryType::kRecord) visit(line.slots[slot]);
    }
  }
}

}  // namespace

std::optional<std::uint64_t> HeaderSweep::next() {
  if (next_.load(std::memory_order_relaxed) >= table_.buckets) return std::nullopt;
  const std::uint64_t piece = next_.fetch_add(kPieceBuckets, std::memory_order_relaxed);
  if (piece >= table_.buckets) return std::nullopt;
  return piece;
}

std::uint64_t HeaderSweep::buckets_of(std::uint64_t piece) const {
  return std::min(kPieceBuckets, table_.buckets - piece);
}

void HeaderSweep::append(std::uint64_t piece, void* buffer, std::vector<rdma::Operation>& chain) const {
  const auto bytes = static_cast<std::uint32_t>(buckets_of(piece) * sizeof(hash::Bucket));
  chain.emplace_back() = rdma::Operation::read(buffer, table_.bucket(piece), bytes);
}

void HeaderSweep::take(std::uint64_t piece, const hash::Bucket* copy) {
  const std::uint64_t buckets = buckets_of(piece);
  std::uint64_t here = 0;
  for (std::uint64_t i = 0; i < buckets; ++i) for_each_record(copy[i], [&](const hash::Slot&) { ++here; });
  const std::uint64_t seen = here * kOneKey + 1;
  if (!fits(seen_.fetch_add(seen, std::memory_order_relaxed) + seen))
    return next_.store(kNever, std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < buckets; ++i) {
    for_each_record(copy[i], [&](const hash::Slot& slot) {
      const Entry entry(slot.entry);
      cache_.offer(slot.key, Location(entry.offset(), entry.incarnation()));
    });
  }
}

/// Lets the cache grow for all keys of the table, and returns whether it could. It takes the rest of the table to be as
/// full as the part that was seen.
bool HeaderSweep::fits(std::uint64_t seen) {
  const std::uint64_t found = seen / kOneKey;
  const std::uint64_t swept = std::min(seen % kOneKey * kPieceBuckets, table_.buckets);
  const unsigned __int128 all = static_cast<unsigned __int128>(found) * table_.buckets / swept;
  return cache_.reserve(static_cast<std::uint64_t>(all));
}

void HeaderSweep::found_unknown() {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (next < table_.buckets || next >= kNever) return;
  const std::uint64_t pieces = (table_.buckets + kPieceBuckets - 1) / kPieceBuckets;
  if (unknown_.fetch_add(1, std::memory_order_relaxed) + 1 < pieces * kLookupsOfPiece) return;
  unknown_.store(0, std::memory_order_relaxed);
  seen_.store(0, std::memory_order_relaxed);
  next_.store(0, std::memory_order_relaxed);
}

}  // namespace granary::kvstore::remote
