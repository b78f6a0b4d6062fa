#include "recovery/merged_parts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

constexpr std::uint32_t kBlockBytes = 1024;
/// The memory that the heap takes beside each block that it gives, about.
constexpr std::size_t kHeapBytes = 16;

}  // namespace

bool MergedParts::is_newer(const Stretch& stretch, record::TidWord base) {
  return stretch.tid > base || base::injected("replay-part-before-base");
}

bool MergedParts::any_newer(record::TidWord base) const {
  return newest_ > base || base::injected("replay-part-before-base");
}

bool MergedParts::fit(record::TidWord base, std::size_t value_bytes) const {
  const auto fits = [&](const Stretch& each) { return !is_newer(each, base) || each.whole_bytes == value_bytes; };
  return std::all_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return std::all_of(block.stretches.begin(), block.stretches.end(), fits);
  });
}

MergedParts::Stretches& MergedParts::stretches_of(std::uint32_t block) {
  auto at = std::lower_bound(blocks_.begin(), blocks_.end(), block,
                             [](const Block& each, std::uint32_t number) { return each.number < number; });
  if (at == blocks_.end() || at->number != block) {
    at = blocks_.insert(at, {block, {}});
    memory_bytes_ += sizeof(Block) + kHeapBytes;
  }
  return at->stretches;
}

/// Inserts `bytes`, if there are any, as a stretch of the same transaction as `of`. Returns the place after it.
MergedParts::Stretches::iterator MergedParts::insert(Stretches& stretches, Stretches::iterator before,
                                                     const Stretch& of, std::uint32_t from, std::string_view bytes) {
  if (bytes.empty()) return before;
  Stretch stretch{from, static_cast<std::uint32_t>(bytes.size()), of.tid, std::make_unique<char[]>(bytes.size()),
                  of.whole_bytes};
  bytes.copy(stretch.bytes.get(), bytes.size());
  memory_bytes_ += sizeof stretch + kHeapBytes + bytes.size();
  return stretches.insert(before, std::move(stretch)) + 1;
}

/// Takes the bytes `from` to `to` out of a stretch that has some of them. Returns the first stretch after these bytes.
MergedParts::Stretches::iterator MergedParts::cut(Stretches& stretches, Stretches::iterator older, std::uint32_t from,
                                                  std::uint32_t to) {
  const Stretch stretch = std::move(*older);
  memory_bytes_ -= sizeof stretch + kHeapBytes + stretch.size;
  auto behind = stretches.erase(older);
  if (stretch.from < from)
    behind = insert(stretches, behind, stretch, stretch.from, stretch.view().substr(0, from - stretch.from));
  if (stretch.end() > to) behind = insert(stretches, behind, stretch, to, stretch.view().substr(to - stretch.from)) - 1;
  return behind;
}

/// Adds `bytes` of a part, which `added` describes, within one block.
void MergedParts::add_within(Stretches& stretches, const Stretch& added, std::string_view bytes) {
  const std::uint32_t end = added.end();
  std::uint32_t at = added.from;  // up to here it is decided whose bytes count
  auto each = std::lower_bound(stretches.begin(), stretches.end(), at,
                               [](const Stretch& stretch, std::uint32_t byte) { return stretch.end() <= byte; });
  while (each != stretches.end() && each->from < end) {
    if (each->tid < added.tid || base::injected("replay-part-order")) {
      each = cut(stretches, each, at, end);
      continue;
    }
    if (each->from > at) each = insert(stretches, each, added, at, bytes.substr(at - added.from, each->from - at));
    at = each->end();
    ++each;
  }
  if (at < end) insert(stretches, each, added, at, bytes.substr(at - added.from));
}

void MergedParts::add(record::TidWord tid, const log::PartHeader& part, std::string_view bytes) {
  newest_ = std::max(newest_, tid);
  for (std::uint32_t from = part.from; !bytes.empty();) {
    const std::uint32_t room = kBlockBytes - from % kBlockBytes;
    const std::string_view within = bytes.substr(0, room);
    const Stretch added{from, static_cast<std::uint32_t>(within.size()), tid, nullptr, part.whole_bytes};
    add_within(stretches_of(from / kBlockBytes), added, within);
    bytes.remove_prefix(within.size());
    from += added.size;
  }
}

}  // namespace granary::recovery
