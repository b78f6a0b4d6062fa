// Log segments: whatever the bytes, the reader ends, stays inside them, and hands out only what a reader of writes
// can walk. The first byte chooses how much is put right first, so that inputs get past header and checksums.

#include <algorithm>
#include <cstring>

#include "recovery/segment_reader.h"
#include "src/base/check.h"
#include "tests/fuzz/target.h"

namespace granary {
namespace {

using log::EntryHeader;
using log::EntryKind;

const recovery::SegmentName kName{.generation = 1, .logger = 0, .sequence = 0};

log::SegmentHeader header() {
  log::SegmentHeader header = recovery::expected_header({}, 0, kName);
  header.seal();
  return header;
}

/// Gives every entry, as far as lengths lead from one to the next, the checksum of its bytes.
void mend_checksums(std::string& segment) {
  for (std::size_t at = sizeof(log::SegmentHeader); at + sizeof(EntryHeader) <= segment.size();) {
    EntryHeader entry;
    std::memcpy(&entry, segment.data() + at, sizeof entry);
    if (entry.body_bytes > segment.size() - at - sizeof entry) return;
    entry.crc = log::entry_crc(header().crc, segment.data() + at, entry.body_bytes);
    std::memcpy(segment.data() + at, &entry, sizeof entry);
    at += entry.bytes();
  }
}

void read(const std::string& segment) {
  auto opened = recovery::SegmentReader::open(segment, "segment", recovery::expected_header({}, 0, kName));
  if (!opened.ok()) return;
  recovery::SegmentReader& reader = *opened;
  for (std::uint64_t last = 0;;) {
    const auto found = reader.next();
    base::always_check(reader.position() >= last && reader.position() <= std::max<std::size_t>(segment.size(), 64),
                       "the reader goes forward and stays inside");
    last = reader.position();
    if (found == recovery::SegmentReader::Found::kEnd) return;
    if (found != recovery::SegmentReader::Found::kTransaction) continue;
    std::size_t bytes = 0;
    log::WriteReader writes(reader.body());
    for (log::Write write; writes.next(&write);) bytes += write.key.size() + write.value.size();
    base::always_check(bytes <= reader.body().size(), "writes are parts of the body");
  }
}

void add_entry(std::string& segment, EntryKind kind, std::uint64_t tid, const std::string& body) {
  const EntryHeader entry{static_cast<std::uint32_t>(body.size()), 0, tid | static_cast<std::uint64_t>(kind)};
  segment.append(reinterpret_cast<const char*>(&entry), sizeof entry).append(body);
  segment.resize(log::padded(segment.size()), '\0');
}

std::string write_bytes(const std::string& key, const std::string& value, bool removed) {
  const log::WriteHeader write{0, static_cast<std::uint32_t>(key.size()),
                               removed ? log::kRemoved : static_cast<std::uint32_t>(value.size())};
  std::string bytes(reinterpret_cast<const char*>(&write), sizeof write);
  return removed ? bytes + key : bytes + key + value;
}

}  // namespace

std::vector<std::string> fuzz::seeds() {
  const log::SegmentHeader begin = header();
  std::string segment(reinterpret_cast<const char*>(&begin), sizeof begin);
  const log::Marker marker{7, 6};
  add_entry(segment, EntryKind::kTransaction, std::uint64_t{8} << 24, write_bytes("key", "value", false));
  add_entry(segment, EntryKind::kTransaction, std::uint64_t{9} << 24,
            write_bytes("", "", false) + write_bytes("gone", "", true));
  add_entry(segment, EntryKind::kMarker, 0, std::string(reinterpret_cast<const char*>(&marker), sizeof marker));
  for (const log::Codec codec : {log::Codec::kLz4, log::Codec::kZstd}) {
    const log::PackedHeader packed{codec, 100};
    add_entry(segment, EntryKind::kPacked, 0,
              std::string(reinterpret_cast<const char*>(&packed), sizeof packed) + std::string(60, '\x11'));
  }
  mend_checksums(segment);
  return {std::string(1, '\0') + segment, std::string(1, '\1') + segment.substr(sizeof begin),
          std::string(1, '\3') + segment.substr(sizeof begin)};
}

}  // namespace granary

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace granary;
  if (size == 0) return 0;
  std::string segment(reinterpret_cast<const char*>(data + 1), size - 1);
  if ((data[0] & 1) != 0) {
    const log::SegmentHeader begin = header();
    segment.insert(0, reinterpret_cast<const char*>(&begin), sizeof begin);
  }
  if ((data[0] & 2) != 0) mend_checksums(segment);
  read(segment);
  return 0;
}
