#include "recovery/checkpoint/piece.h"

#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/record/shared_read.h"

namespace granary::recovery::checkpoint {

bool Piece::run(cc::Index& index, TableRange* range) {
  if (index.ordered()) return run_keys(index.tree(), &std::get<KeyRange>(*range));
  return run_buckets(index.hash(), &std::get<BucketRange>(*range));
}

bool Piece::run_keys(const kvstore::ordered::Tree& tree, KeyRange* range) {
  tree.scan(range->bounds(), kvstore::ordered::Direction::kForward, *this);
  if (!over()) return false;
  base::invariant("I21", range->from_inclusive ? range->from <= last_key_ : range->from < last_key_);
  range->from.swap(last_key_);
  range->from_inclusive = false;
  return true;
}

bool Piece::on_entry(std::string_view key, kvstore::ordered::Value value) {
  copy(key, *record::record_of(value));
  ++seen_;
  if (over()) last_key_.assign(key);
  return !over();
}

/// Copies a few buckets at a time. If the block becomes full within them, their other keys are left for the next piece.
bool Piece::run_buckets(const kvstore::hash::Table& table, BucketRange* range) {
  constexpr std::uint64_t kAtOnce = 8;
  const auto take = [&](std::string_view key, kvstore::hash::Value value) {
    if (block_.full()) {
      range->keys.emplace_back(key);
    } else {
      copy(key, *record::record_of(value));
      ++seen_;
    }
  };
  for (const std::string& key : std::exchange(range->keys, {})) {
    if (const kvstore::hash::Lookup found = table.find(key); found.value != 0) take(key, found.value);
  }
  while (!over() && range->from != range->to) {
    const std::uint64_t end = std::min(range->from + kAtOnce, range->to);
    table.visit(range->from, end, take);
    seen_ += end - range->from;
    range->from = end;
  }
  return !range->keys.empty() || range->from != range->to;
}

/// Copies the version that the snapshot sees. The value of a version with TID t has all parts up to t: it is read from
/// the record between two looks at its TID word (stable_read.h), or from a copy of the whole record, which was made
/// under its lock before a part was written over it (keep_version in src/cc/install.cc). Parts of later transactions
/// are in the log, which is kept from the snapshot's epoch on, so a recovery lays them on this value.
void Piece::copy(std::string_view key, const record::Record& head) {
  record::StableRead seen;
  std::size_t room = 0;
  do {
    const std::span<char> place = block_.value_place(key.size(), room);
    seen = record::read_record_snapshot(head, key.size(), snapshot_, place.data(), place.size(), waiter_);
    room = seen.size;
  } while (seen.state == record::ReadState::kTooSmall);
  held_ = held_ || seen.state == record::ReadState::kBusy;
  if (seen.state != record::ReadState::kValue) return;
  block_.add(record::tid_of(seen.tid), key, seen.size);
  ++count_.records;
  count_.bytes += key.size() + seen.size;
}

}  // namespace granary::recovery::checkpoint
