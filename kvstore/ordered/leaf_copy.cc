#include "kvstore/ordered/leaf_copy.h"

#include "kvstore/ordered/node.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::kvstore::ordered {
namespace {

constexpr unsigned kWidth = LeafCopy::kMostEntries;
using CopiedLeaf = LeafNode<kWidth>;
static_assert(sizeof(CopiedLeaf) == LeafCopy::kBytes);

const CopiedLeaf& leaf_in(const void* bytes) { return *static_cast<const CopiedLeaf*>(bytes); }

LeafCopy::Found found_in(const Entry& entry) {
  if (entry.code > kSliceBytes) return {.deeper = true};
  return {.value = entry.word};
}

}  // namespace

LeafCopy::State LeafCopy::state(std::uint32_t birth) const {
  const CopiedLeaf& leaf = leaf_in(bytes_);
  constexpr NodeVersion::Word kKind = NodeVersion::kLeaf | NodeVersion::kTop | NodeVersion::kDeleted;
  const bool of_layer_0 = (after_ & kKind) == (NodeVersion::kLeaf | NodeVersion::kTop);
  const bool any_leaf = base::injected("stale-leaf-believed");
  if (!of_layer_0 && !any_leaf) return State::kGone;
  const bool moved = ((before_ ^ after_) & ~NodeVersion::kLocked) != 0 || (after_ & NodeVersion::kDirty) != 0;
  if (moved && !base::injected("torn-leaf-believed")) return State::kChanging;
  if (leaf.birth != birth && !any_leaf) return State::kGone;
  return leaf.order().valid() ? State::kWhole : State::kGone;
}

Version LeafCopy::version() const { return NodeVersion::key_set(after_); }

LeafRange LeafCopy::range() const {
  const CopiedLeaf& leaf = leaf_in(bytes_);
  return {.low = leaf.low(), .high = leaf.high(), .birth = leaf.birth};
}

bool LeafCopy::covers(Position at) const {
  const LeafRange mine = range();
  return mine.low <= at && (at < mine.high || base::injected("split-leaf-believed"));
}

LeafCopy::Found LeafCopy::find(Position at) const {
  base::debug_invariant("I32", [&] { return covers(at); });
  const CopiedLeaf& leaf = leaf_in(bytes_);
  const unsigned slot = leaf.slot_of(leaf.order(), at);
  return slot == kWidth ? Found{} : found_in(leaf.entry(slot));
}

unsigned LeafCopy::count() const { return leaf_in(bytes_).order().count(); }

LeafCopy::At LeafCopy::entry(unsigned rank) const {
  const CopiedLeaf& leaf = leaf_in(bytes_);
  const Entry entry = leaf.entry(leaf.order().slot(rank));
  return {entry.position(), found_in(entry)};
}

}  // namespace granary::kvstore::ordered
