#include "src/cluster/transaction/leaf_scan.h"

#include <algorithm>

namespace granary::cluster {

using kvstore::ordered::kBeyondPosition;
using kvstore::ordered::key_at;
using kvstore::ordered::KeyCode;
using kvstore::ordered::kFirstPosition;
using kvstore::ordered::kLastPosition;
using kvstore::ordered::kSliceBytes;
using kvstore::ordered::kSuffixed;
using kvstore::ordered::LayerKey;
using kvstore::ordered::LeafRange;
using messages::KeyRange;

namespace {

/// A piece has at most kMostLeaves leaves. It ends with the entry whose record brings it to kPieceBytes.
constexpr std::size_t kMostLeaves = 8;
constexpr std::size_t kPieceBytes = std::size_t{32} << 10;
/// How many entries a leaf is expected to have, to tell from the range's limit how many leaves to READ.
constexpr std::size_t kEntriesExpected = 8;

/// Returns the position before one that is not the first.
Position before(Position at) {
  if (at.code > 0) return {at.slice, static_cast<KeyCode>(at.code - 1)};
  return {at.slice - 1, kSuffixed};
}

// The first and the last position that may have keys of the range. A position stands for all keys of more than 8 bytes
// with its slice if its code is kSuffixed. A bound with such a key has keys of this position on both sides, so the
// position is in the range.
Position first_of(const KeyRange& range) {
  const Position at = LayerKey(range.from).at;
  if (range.from_inclusive || at.code == kSuffixed) return at;
  return {at.slice, static_cast<KeyCode>(at.code + 1)};
}
Position last_of(const KeyRange& range) {
  if (range.to_infinity) return kLastPosition;
  const Position at = LayerKey(range.to).at;
  return range.to_inclusive || at.code == kSuffixed ? at : before(at);
}
bool is_empty(const KeyRange& range) {
  const bool ends_first = !range.to_infinity && !range.to_inclusive && range.to.empty();
  return ends_first || last_of(range) < first_of(range);
}
bool inside(Position at, const KeyRange& range) { return first_of(range) <= at && at <= last_of(range); }

/// Whether the leaf reaches the range's end, or is the last one of its layer.
bool reaches_end(const LeafRange& leaf, const KeyRange& range) {
  if (range.descending) return leaf.low <= first_of(range);
  return leaf.high == kBeyondPosition || last_of(range) < leaf.high;
}
/// Whether the leaf has keys of more than 8 bytes in the range, which lie in a deeper layer of the tree.
bool has_long_keys(const KeyRange& range, const LeafCopy& leaf) {
  for (unsigned rank = 0; rank < leaf.count(); ++rank) {
    const LeafCopy::At entry = leaf.entry(rank);
    if (entry.found.deeper && inside(entry.position, range)) return true;
  }
  return false;
}
/// Returns the position where the range goes on behind a leaf that does not reach its end.
Position behind(const LeafRange& leaf, const KeyRange& range) {
  return range.descending ? before(leaf.low) : leaf.high;
}

/// Cuts the range off where a leaf ended. It goes on with the leaf that has this position.
void advance_to_leaf(KeyRange& range, Position at, char* bytes) {
  if (range.descending) {
    // The position behind `at` is the lower end of the last leaf that was collected, so the rest of the range ends
    // before it.
    range.to = key_at({at.slice, static_cast<KeyCode>(at.code + 1)}, bytes);
    range.to_infinity = false;
    range.to_inclusive = at.code >= kSliceBytes;
  } else {
    range.from = key_at(at, bytes);
    range.from_inclusive = at.code <= kSliceBytes;
  }
}

}  // namespace

/// Entries collected from the leaves with which a range begins, in the range's order, and where they end.
struct LeafScan::Collected {
  struct Entry {
    Position position;
    kvstore::ordered::Value value;
  };
  enum class End : std::uint8_t {
    kNoLeaf,     ///< not even the first leaf was collected, so there is no piece
    kLeafEnd,    ///< the piece ends with a leaf, since the next one is missing
    kLastEntry,  ///< the piece ends with its last entry, since it is long enough
    kRangeEnd,   ///< the piece reaches the end of the range
  };

  Batch<Entry> entries;
  End end = End::kNoLeaf;
  Position next = {};  ///< where the next leaf has to go on; it is where the range goes on after kLeafEnd
};

/// Adds the leaves with which the range begins, as far as they are known. Without the first one the owner is asked. A
/// later one that is not known is the first of the next piece, unless the scan ends before.
void LeafScan::add_leaves(const KeyRange& rest, LeafReads& leaves) const {
  const std::size_t most = std::min<std::uint64_t>(kMostLeaves, 1 + rest.limit / kEntriesExpected);
  Position at = rest.descending ? last_of(rest) : first_of(rest);
  for (std::size_t i = 0; i < most; ++i) {
    const LeafRead* const leaf =
        leaves.add(*known_, at, i == 0 ? LeafReads::Unknown::kIsMiss : LeafReads::Unknown::kIsNoMiss);
    if (leaf == nullptr || reaches_end(leaf->leaf().range, rest)) return;
    at = behind(leaf->leaf().range, rest);
  }
}

/// Collects the entries of one leaf after the other, and notes these leaves in the node set. Each leaf must cover the
/// position where the one before it ended when it was READ.
AbortReason LeafScan::collect_leaves(const KeyRange& rest, LeafReads& leaves, Collected& collected) {
  collected.next = rest.descending ? last_of(rest) : first_of(rest);
  while (const LeafRead* const leaf = leaves.covering(*known_, collected.next)) {
    if (has_long_keys(rest, leaf->copy())) {
      known_->leaves->note_long_keys();
      break;
    }
    const bool is_full = collect_entries(rest, leaf->copy(), collected);
    if (const AbortReason reason = sealed_ ? AbortReason::kNone : leaves.note(asked_.scanned(), *leaf); failed(reason))
      return reason;
    if (is_full || reaches_end(leaf->copy().range(), rest)) {
      collected.end = is_full ? Collected::End::kLastEntry : Collected::End::kRangeEnd;
      break;
    }
    collected.end = Collected::End::kLeafEnd;
    collected.next = behind(leaf->copy().range(), rest);
  }
  return AbortReason::kNone;
}

/// Collects the entries of one leaf that are in the range. Returns whether the piece is long enough.
bool LeafScan::collect_entries(const KeyRange& rest, const LeafCopy& leaf, Collected& collected) const {
  const std::size_t record_bytes = record::shared_record_bytes(kSliceBytes, known_->remote.max_value_bytes);
  const unsigned count = leaf.count();
  for (unsigned i = 0; i < count; ++i) {
    const LeafCopy::At entry = leaf.entry(rest.descending ? count - 1 - i : i);
    // A leaf may have taken over its neighbour's range after the neighbour was READ. So entries that the piece has are
    // passed over.
    const bool is_behind = rest.descending ? entry.position <= collected.next : collected.next <= entry.position;
    if (!is_behind || !inside(entry.position, rest)) continue;
    collected.entries.push_back({entry.position, entry.found.value});
    if (collected.entries.size() >= rest.limit || collected.entries.size() * record_bytes >= kPieceBytes) return true;
  }
  return false;
}

/// Opens an access for each entry of the piece, and READs their records.
AbortReason LeafScan::read_records(const Collected& collected, Batch<Access*>& entries) {
  Batch<Access*> to_read = footprint_.trips.batch<Access*>(collected.entries.size());
  for (const Collected::Entry& entry : collected.entries) {
    char bytes[kSliceBytes];
    const std::string_view key = key_at(entry.position, bytes);
    Access* access = nullptr;
    if (const AbortReason reason = footprint_.open({&asked_.scanned(), asked_.home, key}, access); failed(reason))
      return reason;
    entries.push_back(access);
    if (access->read) continue;
    access->read = true;
    if (!access->has_record()) {
      set_place(*access, entry.value);
      access->seen.note_record();
    }
    to_read.push_back(access);
  }
  return reading_.fetch_values(to_read);
}

/// READs the records of the base table that the entries of an index lead to.
AbortReason LeafScan::read_bases(const Batch<Access*>& entries) {
  Batch<Access*> unseen = footprint_.trips.batch<Access*>(entries.size());
  for (const Access* const entry : entries) {
    if (!entry->had_value()) continue;
    Access* base = nullptr;
    if (const AbortReason reason = footprint_.open({&asked_.table, asked_.home, entry->seen.value}, base);
        failed(reason))
      return reason;
    if (base->note_read()) unseen.push_back(base);
  }
  return reading_.find(unseen);
}

/// Makes `rest` the range behind what was collected, which does not reach its end.
void LeafScan::advance(KeyRange& rest, const Collected& collected) const {
  char* const bytes = footprint_.trips.arena().allocate(kSliceBytes);
  if (collected.end == Collected::End::kLastEntry) {
    rest.advance_behind(key_at(collected.entries[collected.entries.size() - 1].position, bytes));
  } else {
    advance_to_leaf(rest, collected.next, bytes);
  }
}

AbortReason LeafScan::read(KeyRange& rest, std::optional<ScanPiece>& piece) {
  if (known_ == nullptr || known_->leaves == nullptr || known_->leaves->has_long_keys()) return AbortReason::kNone;
  if (is_empty(rest)) {
    piece.emplace(ScanPiece{.entries = footprint_.trips.batch<Access*>(0)});
    return AbortReason::kNone;
  }
  LeafReads leaves(footprint_, kMostLeaves);
  add_leaves(rest, leaves);
  AbortReason reason = leaves.run();
  if (failed(reason)) return reason;
  Collected collected{.entries = footprint_.trips.batch<Collected::Entry>(kMostLeaves * LeafCopy::kMostEntries)};
  reason = collect_leaves(rest, leaves, collected);
  if (failed(reason) || collected.end == Collected::End::kNoLeaf) return reason;
  piece.emplace(ScanPiece{.entries = footprint_.trips.batch<Access*>(collected.entries.size()),
                          .more = collected.end != Collected::End::kRangeEnd});
  reason = read_records(collected, piece->entries);
  if (!failed(reason) && asked_.index != nullptr) reason = read_bases(piece->entries);
  if (piece->more) advance(rest, collected);
  return reason;
}

}  // namespace granary::cluster
