#include "recovery/stretches.h"

#include <map>

#include "recovery/entry_check.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

/// Maps each epoch to the bytes of log that end in it, as far as that is known. Packed log counts as it is unpacked,
/// since that is what memory has to hold.
using BytesByEpoch = std::map<epoch::Epoch, std::uint64_t>;

/// Adds the bytes of a chunk. A chunk does not say how they are spread over its epochs, so they are taken to be spread
/// evenly.
void add_chunk(const Chunk& chunk, BytesByEpoch& bytes) {
  constexpr epoch::Epoch kParts = 64;
  const epoch::Epoch step = (chunk.last_epoch - chunk.first_epoch) / kParts + 1;
  const std::uint64_t parts = (chunk.last_epoch - chunk.first_epoch) / step + 1;
  for (std::uint64_t part = 0; part < parts; ++part) bytes[chunk.last_epoch - part * step] += chunk.unpacked / parts;
}

void add_ring(const RingEntries& ring, BytesByEpoch& bytes) {
  EntryList entries(ring.entries);
  Entry entry;
  for (std::size_t begin = 0; entries.next(&entry); begin = entries.offset())
    bytes[record::epoch_of(entry.header.tid())] += entries.offset() - begin;
}

}  // namespace

std::vector<Stretch> stretches(const LogScan& scan, std::span<const RingEntries> rings, epoch::Epoch from,
                               std::uint64_t bytes) {
  BytesByEpoch by_epoch;
  for (const LogSegment& segment : scan.segments) {
    for (const Chunk& chunk : segment.chunks) add_chunk(chunk, by_epoch);
  }
  for (const RingEntries& ring : rings) add_ring(ring, by_epoch);
  std::vector<Stretch> all;
  std::uint64_t gathered = 0;
  for (const auto& [end, more] : by_epoch) {
    if (end < from) continue;
    gathered += more;
    if (gathered < bytes) continue;
    all.push_back({.first = from, .last = end});
    from = end + 1;
    gathered = 0;
  }
  all.push_back({.first = from});
  return all;
}

}  // namespace granary::recovery
