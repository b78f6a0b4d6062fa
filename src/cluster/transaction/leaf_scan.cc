#include "src/cluster/transaction/leaf_scan.h"

#include <algorithm>

#include "src/cluster/messages/range.h"

namespace granary::cluster {

using kvstore::ordered::kBeyondPosition;
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

}  // namespace

/// The beginning of a range: entries collected from leaves in the range's order, and where they end.
struct LeafScan::Piece {
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

/// Adds the leaves with which the range begins, as far as they are known.
void LeafScan::add_leaves(const KeyRange& rest, LeafReads& leaves) const {
  const std::size_t most = std::min<std::uint64_t>(kMostLeaves, 1 + rest.limit / kEntriesExpected);
  Position at = rest.descending ? last_of(rest) : first_of(rest);
  for (std::size_t i = 0; i < most; ++i) {
    const LeafRead* const leaf = leaves.add(*known_, at);
    if (leaf == nullptr || reaches_end(leaf->leaf().range, rest)) return;
    at = behind(leaf->leaf().range, rest);
  }
}

/// Collects the entries of one leaf after the other, and notes these leaves in the node set. Each leaf must cover the
/// position where the one before it ended when it was READ.
AbortReason LeafScan::collect_leaves(const KeyRange& rest, LeafReads& leaves, Piece& piece) {
  piece.next = rest.descending ? last_of(rest) : first_of(rest);
  while (const LeafRead* const leaf = leaves.covering(*known_, piece.next)) {
    if (has_long_keys(rest, leaf->copy())) {
      known_->leaves->note_long_keys();
      break;
    }
    const bool is_full = collect_entries(rest, leaf->copy(), piece);
    const AbortReason reason = sealed_ ? AbortReason::kNone : leaves.note(asked_.scanned(), *leaf);
    if (reason != AbortReason::kNone) return reason;
    if (is_full || reaches_end(leaf->copy().range(), rest)) {
      piece.end = is_full ? Piece::End::kLastEntry : Piece::End::kRangeEnd;
      break;
    }
    piece.end = Piece::End::kLeafEnd;
    piece.next = behind(leaf->copy().range(), rest);
  }
  return AbortReason::kNone;
}

/// Collects the entries of one leaf that are in the range. Returns whether the piece is long enough.
bool LeafScan::collect_entries(const KeyRange& rest, const LeafCopy& leaf, Piece& piece) const {
  const std::size_t record_bytes = record::shared_record_bytes(kSliceBytes, known_->remote.max_value_bytes);
  const unsigned count = leaf.count();
  for (unsigned i = 0; i < count; ++i) {
    const LeafCopy::At entry = leaf.entry(rest.descending ? count - 1 - i : i);
    // A leaf may have taken over its neighbour's range after the neighbour was READ. So entries that the piece has are
    // passed over.
    const bool is_behind = rest.descending ? entry.position <= piece.next : piece.next <= entry.position;
    if (!is_behind || !inside(entry.position, rest)) continue;
    piece.entries.push_back({entry.position, entry.found.value});
    if (piece.entries.size() >= rest.limit || piece.entries.size() * record_bytes >= kPieceBytes) return true;
  }
  return false;
}

/// Opens an access for each entry of the piece, and READs their records.
AbortReason LeafScan::read_records(const Piece& piece, Batch<Access*>& entries) {
  Batch<Access*> to_read = footprint_.trips.batch<Access*>(piece.entries.size());
  for (const Piece::Entry& entry : piece.entries) {
    char key[kSliceBytes];
    kvstore::ordered::store_slice(key, entry.position.slice);
    Access* access = nullptr;
    const AbortReason reason = footprint_.open({&asked_.scanned(), asked_.home, {key, entry.position.code}}, access);
    if (reason != AbortReason::kNone) return reason;
    entries.push_back(access);
    if (access->read) continue;
    access->read = true;
    if (!access->has_record()) adopt_entry(*access, entry.value);
    to_read.push_back(access);
  }
  return reading_.fetch_values(to_read);
}

/// READs the records of the base table that the entries of an index lead to.
AbortReason LeafScan::read_bases(const Batch<Access*>& entries) {
  Batch<Access*> unseen = footprint_.trips.batch<Access*>(entries.size());
  for (const Access* const entry : entries) {
    if (!entry->found()) continue;
    Access* base = nullptr;
    const AbortReason reason = footprint_.open({&asked_.table, asked_.home, entry->seen.value}, base);
    if (reason != AbortReason::kNone) return reason;
    if (base->note_read()) unseen.push_back(base);
  }
  return reading_.find(unseen);
}

/// Cuts the piece, which does not reach the range's end, off the beginning of the range.
void LeafScan::cut_off(const Piece& piece, KeyRange& rest) const {
  const bool at_entry = piece.end == Piece::End::kLastEntry;
  const Position at = at_entry ? piece.entries[piece.entries.size() - 1].position : piece.next;
  char* const bytes = footprint_.trips.arena().allocate(kSliceBytes);
  kvstore::ordered::store_slice(bytes, at.slice);
  const auto key_of = [bytes](std::size_t size) { return std::string_view(bytes, std::min(size, kSliceBytes)); };
  if (at_entry) {
    messages::go_behind(rest, key_of(at.code));
  } else if (rest.descending) {
    // The position behind `at` is the lower end of the last leaf that was collected, so the rest of the range ends
    // before it.
    rest.to = key_of(at.code + 1u);
    rest.to_infinity = false;
    rest.to_inclusive = at.code >= kSliceBytes;
  } else {
    rest.from = key_of(at.code);
    rest.from_inclusive = at.code <= kSliceBytes;
  }
}

AbortReason LeafScan::read(KeyRange& rest, std::optional<Batch<Access*>>& entries, bool& more) {
  if (known_ == nullptr || known_->leaves == nullptr || known_->leaves->has_long_keys()) return AbortReason::kNone;
  if (is_empty(rest)) {
    more = false;
    entries.emplace(footprint_.trips.batch<Access*>(0));
    return AbortReason::kNone;
  }
  LeafReads leaves(footprint_, kMostLeaves);
  add_leaves(rest, leaves);
  AbortReason reason = leaves.run();
  if (reason != AbortReason::kNone) return reason;
  Piece piece{.entries = footprint_.trips.batch<Piece::Entry>(kMostLeaves * LeafCopy::kMostEntries)};
  reason = collect_leaves(rest, leaves, piece);
  if (reason != AbortReason::kNone || piece.end == Piece::End::kNoLeaf) return reason;
  entries.emplace(footprint_.trips.batch<Access*>(piece.entries.size()));
  reason = read_records(piece, *entries);
  if (reason == AbortReason::kNone && asked_.index != nullptr) reason = read_bases(*entries);
  more = piece.end != Piece::End::kRangeEnd;
  if (more) cut_off(piece, rest);
  return reason;
}

}  // namespace granary::cluster
