// Log segments: whatever the bytes, the reader ends, stays inside them, and hands out only what a reader of writes
// can walk; a scan finds the same. Bits of the first byte: 0, checksums are put right first; 1, the segment of another
// name is expected; 2, it is read although its header is wrong.

#include <algorithm>
#include <cstring>
#include <string>

#include "recovery/segment_scan.h"
#include "src/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/fault_files.h"

namespace granary {
namespace {

using log::EntryHeader;
using log::SegmentHeader;
using recovery::SegmentReader;

/// The header without its checksum, default values where the segment has none.
SegmentHeader header_of(const std::string& segment) {
  SegmentHeader header;
  if (segment.size() >= sizeof header) std::memcpy(&header, segment.data(), sizeof header);
  return header;
}

/// Gives the header, and every entry, as far as lengths lead from one to the next, the checksum of its bytes.
void mend_checksums(std::string& segment) {
  if (segment.size() < sizeof(SegmentHeader)) return;
  SegmentHeader header = header_of(segment);
  header.seal();
  std::memcpy(segment.data(), &header, sizeof header);
  for (std::size_t at = sizeof header; at + sizeof(EntryHeader) <= segment.size();) {
    EntryHeader entry;
    std::memcpy(&entry, segment.data() + at, sizeof entry);
    if (entry.body_bytes > segment.size() - at - sizeof entry) return;
    entry.crc = log::entry_crc(header.crc, segment.data() + at, entry.body_bytes);
    std::memcpy(segment.data() + at, &entry, sizeof entry);
    at += entry.bytes();
  }
}

/// What a reader found in a segment.
struct Found {
  std::uint64_t transactions = 0, markers = 0, faults = 0;
  bool malformed = false;  // a transaction's writes
};

bool walk_writes(std::string_view body) {
  std::size_t bytes = 0;
  log::WriteReader writes(body);
  for (log::Write write; writes.next(&write);) {
    bytes += write.key.size() + write.value.size();
    base::always_check(!write.part || (!write.value.empty() && write.part->from <= write.bytes_after() &&
                                       write.value.size() <= write.bytes_after() - write.part->from),
                       "a part lies within its value");
  }
  base::always_check(bytes <= body.size(), "writes are parts of the body");
  return !writes.malformed();
}

Found walk(SegmentReader& reader, std::size_t size) {
  Found found;
  for (std::uint64_t last = 0;;) {
    const auto next = reader.next();
    base::always_check(reader.position() >= last && reader.position() <= std::max(size, sizeof(SegmentHeader)),
                       "the reader goes forward and stays inside");
    last = reader.position();
    switch (next) {
      case SegmentReader::Found::kTransaction:
        ++found.transactions;
        found.malformed |= !walk_writes(reader.body());
        break;
      case SegmentReader::Found::kMarker: ++found.markers; break;
      case SegmentReader::Found::kContinues: break;
      case SegmentReader::Found::kFault: ++found.faults; break;
      case SegmentReader::Found::kEnd: return found;
    }
  }
}

/// The chunks of a scan are pieces of the file, one behind the other, and it counts what the reader hands out.
void check_scan(std::string segment, const recovery::SegmentName& name, const SegmentHeader& expected, bool salvage,
                const Found& found) {
  tests::FaultFiles files;
  const std::size_t size = segment.size();
  files.put("segment", std::move(segment));
  recovery::FileBytes buffer;
  const auto scanned = recovery::scan_segment(files, "segment", name, expected, {.salvage = salvage}, buffer);
  base::always_check(scanned.ok() && scanned->transactions == found.transactions && scanned->markers == found.markers &&
                         scanned->faults.size() == found.faults,
                     "a scan finds what the reader finds");
  std::uint64_t last = 0;
  for (const recovery::Chunk& chunk : scanned->chunks) {
    base::always_check(last <= chunk.begin && chunk.begin < chunk.end && chunk.end <= size,
                       "chunks stand one behind the other");
    last = chunk.end;
  }
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::string segment(input.substr(1));
  if ((input[0] & 1) != 0) mend_checksums(segment);
  const bool another = (input[0] & 2) != 0, salvage = (input[0] & 4) != 0;
  const SegmentHeader header = another ? SegmentHeader() : header_of(segment);
  const recovery::SegmentName name{header.generation, header.logger, header.sequence};
  const SegmentHeader expected = recovery::expected_header(header.database, name);
  auto opened = SegmentReader::open(segment, "segment", expected, salvage);
  Found found;
  if (opened.ok()) found = walk(*opened, segment.size());
  const bool clean = opened.ok() && opened->verdict() == SegmentReader::Verdict::kClean && !found.malformed;
  check_scan(std::move(segment), name, expected, salvage, found);
  return clean;
}

}  // namespace granary
