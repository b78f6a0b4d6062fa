#include "recovery/segment_scan.h"

#include <algorithm>
#include <utility>

#include "src/record/tid.h"

namespace granary::recovery {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;

/// Cuts a sequence of entries into chunks.
class ChunkCutter {
 public:
  ChunkCutter(std::vector<Chunk>& chunks, std::uint64_t begin) : chunks_(chunks) { chunk_.begin = begin; }

  void transaction(epoch::Epoch epoch, std::uint64_t bytes) {
    chunk_.first_epoch = used_ ? std::min(chunk_.first_epoch, epoch) : epoch;
    chunk_.last_epoch = std::max(chunk_.last_epoch, epoch);
    chunk_.unpacked += bytes;
    used_ = true;
  }
  /// Notes that all entries before `end` have passed.
  void entry_ends(std::uint64_t end) {
    if (end - chunk_.begin >= kChunkBytes) cut(end, end);
  }
  /// Ends the chunk at `end`. The next one begins at `begin`.
  void cut(std::uint64_t end, std::uint64_t begin) {
    chunk_.end = end;
    // A packed entry may be broken after its first transactions. Then these count for the chunk before it, or not at
    // all.
    if (used_ && chunk_.begin < end) chunks_.push_back(chunk_);
    chunk_ = {.begin = begin, .behind_fault = chunk_.behind_fault};
    used_ = false;
  }
  void fault_passed() { chunk_.behind_fault = true; }

 private:
  std::vector<Chunk>& chunks_;
  Chunk chunk_;
  bool used_ = false;
};

void note_marker(ScannedSegment& scanned, const log::Marker& marker) {
  ++scanned.markers;
  if (scanned.complete_first == marker.complete) scanned.named = true;
  if (!scanned.complete_first) scanned.complete_first = marker.complete;
  scanned.complete_any = marker.complete;
  if (scanned.faults.empty()) scanned.complete = marker.complete;
  if (!scanned.faults.empty() && !scanned.faults.back().complete_after)
    scanned.faults.back().complete_after = marker.complete;
  scanned.durable = std::max(scanned.durable, marker.durable);
  scanned.released = std::max(scanned.released, marker.released);
  scanned.greatest_epoch = std::max(scanned.greatest_epoch, marker.complete);
}

/// Whether replay has to see the transaction. It has to see one that is malformed or has no writes, too, because only
/// replay reports that.
bool concerns(std::optional<std::uint32_t> home, std::string_view body) {
  if (!home) return true;
  log::WriteReader writes(body);
  log::Write write;
  while (writes.next(&write)) {
    if (write.home == home) return true;
  }
  return writes.malformed() || body.empty();
}

void walk(SegmentReader& reader, const SegmentScanOptions& options, ScannedSegment& scanned) {
  ChunkCutter cutter(scanned.chunks, reader.position());
  for (;;) {
    switch (reader.next()) {
      case SegmentReader::Found::kTransaction: {
        const epoch::Epoch epoch = record::epoch_of(reader.tid());
        ++scanned.transactions;
        scanned.greatest_epoch = std::max(scanned.greatest_epoch, epoch);
        if (concerns(options.home, reader.body())) {
          scanned.latest_transaction = std::max(scanned.latest_transaction, epoch);
          cutter.transaction(epoch, reader.entry_bytes());
        }
        if (!reader.inside_packed()) cutter.entry_ends(reader.position());
        break;
      }
      case SegmentReader::Found::kMarker:
        note_marker(scanned, reader.marker());
        cutter.entry_ends(reader.position());
        break;
      case SegmentReader::Found::kContinues:
        scanned.continued_in = reader.next_segment();
        cutter.entry_ends(reader.position());
        break;
      case SegmentReader::Found::kFault:
        if (scanned.faults.empty()) scanned.end = reader.fault().offset;
        cutter.cut(reader.fault().offset, reader.position());
        cutter.fault_passed();
        scanned.faults.push_back({reader.fault(), scanned.complete_any, std::nullopt});
        break;
      case SegmentReader::Found::kEnd:
        if (scanned.faults.empty()) scanned.end = reader.position();
        cutter.cut(reader.position(), reader.position());
        return;
    }
  }
}

/// Notes what the device does not give back: as the cause of the faults that this has made, or as a fault of its own if
/// it lies behind all entries, as nobody knows what stood there. Zeros that an entry has there anyway are no fault.
void note_unreadable(const std::vector<Unreadable>& places, std::uint64_t entries_end, ScannedSegment& scanned) {
  for (const Unreadable& place : places) {
    scanned.unreadable = true;
    if (!scanned.header.ok() && place.begin < sizeof(log::SegmentHeader))
      scanned.header = {StatusCode::kDamaged, place.cause};
    bool known = false;
    for (ScannedFault& each : scanned.faults) {
      if (place.end <= each.fault.offset || place.begin >= each.fault.next.value_or(scanned.bytes)) continue;
      each.fault.cause = place.cause;
      known = true;
    }
    if (!known && place.begin >= entries_end)
      scanned.faults.push_back({{place.begin, place.cause, std::nullopt}, scanned.complete_any, std::nullopt});
  }
}

}  // namespace

Result<ScannedSegment> scan_segment(base::FileSystem& files, const std::string& path, const SegmentName& name,
                                    const log::SegmentHeader& expected, const SegmentScanOptions& options,
                                    FileBytes& buffer) {
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  std::vector<Unreadable> unreadable;
  if (options.past_unreadable) {
    auto places = buffer.load_readable(**file, path);
    if (!places.ok()) return places.status();
    unreadable = std::move(*places);
  } else if (const Status loaded = buffer.load(**file, path); !loaded.ok()) {
    return loaded;
  }
  ScannedSegment scanned;
  scanned.name = name;
  scanned.path = path;
  scanned.bytes = buffer.view().size();
  auto reader = SegmentReader::open(buffer.view(), path, expected);
  if (!reader.ok()) {
    scanned.header = reader.status();
    if (!options.salvage) return scanned;
    reader = SegmentReader::open(buffer.view(), path, expected, /*ignore_header=*/true);
  }
  scanned.crc = reader->segment_crc();
  walk(*reader, options, scanned);
  note_unreadable(unreadable, reader->position(), scanned);
  return scanned;
}

}  // namespace granary::recovery
