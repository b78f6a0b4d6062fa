#include "recovery/entry_check.h"

#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>

#include "src/base/test_hooks.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

using log::EntryHeader;
using log::EntryKind;

/// More bytes than any logger packs into one entry, which are those that it gathers, or one transaction as large as a
/// ring may be.
constexpr std::size_t kMaxUnpacked = std::size_t{1} << 30;
/// The greatest ratio of an LZ4 block's content to its size.
constexpr std::size_t kMaxLz4Factor = 255;

const char* check_marker(std::string_view body) {
  if (body.size() != sizeof(log::Marker) && body.size() != log::kFormerMarkerBytes)
    return "an epoch marker of the wrong length";
  const log::Marker marker = marker_in(body);
  if (std::max(marker.complete, marker.released) > record::kMaxEpoch)
    return "an epoch marker beyond the last epoch there can be";
  if (marker.durable > marker.complete) return "an epoch marker whose durable epoch is behind its complete one";
  return nullptr;
}

const char* check_continues(std::string_view body) {
  return body.size() == sizeof(log::Continues) ? nullptr : "the name of the next segment has the wrong length";
}

/// Checks what a checksum does not show: that the entry makes sense.
const char* check_sense(const Entry& entry) {
  switch (entry.header.kind()) {
    case EntryKind::kTransaction: return entry.header.tid() == 0 ? "a transaction without a TID" : nullptr;
    case EntryKind::kMarker: return check_marker(entry.body);
    case EntryKind::kContinues: return check_continues(entry.body);
    case EntryKind::kPacked: return nullptr;
    case EntryKind::kNone: break;
  }
  return "an entry of no known kind";
}

}  // namespace

log::Marker marker_in(std::string_view body) {
  log::Marker marker{};
  std::memcpy(&marker, body.data(), std::min(body.size(), sizeof marker));
  return marker;
}

const char* check_entry(std::string_view segment, std::size_t at, std::uint32_t segment_crc, Entry* entry) {
  const std::string_view rest = segment.substr(at);
  EntryHeader& header = entry->header;
  if (rest.size() < sizeof header) return "the header of an entry is cut off";
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.kind() == EntryKind::kNone && header.tid() == 0 && header.body_bytes == 0 && header.crc == 0)
    return "zeros instead of an entry";
  if (header.kind() == EntryKind::kNone || header.kind() > EntryKind::kContinues) return "an entry of no known kind";
  if (header.bytes() > rest.size()) return "an entry is longer than what is left of the file";
  if (header.crc != log::entry_crc(segment_crc, rest.data(), header.body_bytes) && !base::injected("skip-checksum")) {
    return "the checksum of an entry is wrong";
  }
  entry->body = rest.substr(sizeof header, header.body_bytes);
  return check_sense(*entry);
}

bool EntryList::next(Entry* entry) {
  const std::string_view rest = bytes_.substr(at_);
  EntryHeader& header = entry->header;
  if (rest.empty() || fault_ != nullptr) return false;
  if (rest.size() < sizeof header) return fault_ = "the header of an entry is cut off", false;
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.kind() != EntryKind::kTransaction || header.tid() == 0)
    return fault_ = "something that is no transaction", false;
  if (header.bytes() > rest.size()) return fault_ = "an entry is longer than what holds it", false;
  entry->body = rest.substr(sizeof header, header.body_bytes);
  at_ += header.bytes();
  return true;
}

const char* Unpacker::unpack(std::string_view body, std::string_view* content) {
  log::PackedHeader packed;
  if (body.size() < sizeof packed) return "a packed entry without its header";
  std::memcpy(&packed, body.data(), sizeof packed);
  body.remove_prefix(sizeof packed);
  const std::size_t bytes = packed.raw_bytes;
  if (bytes > kMaxUnpacked) return "a packed entry that claims to hold more than there can be";
  if (packed.codec == log::Codec::kLz4) {
    if (bytes / kMaxLz4Factor > body.size()) return "an LZ4 entry that claims to hold more than it can";
  } else if (packed.codec != log::Codec::kZstd) {
    return "a packed entry of no known codec";
  } else if (ZSTD_getFrameContentSize(body.data(), body.size()) != bytes) {
    return "a zstd entry whose frame holds another number of bytes than its header says";
  }
  if (bytes > room_) {
    room_ = 0;
    buffer_.reset();
    buffer_ = std::make_unique_for_overwrite<char[]>(bytes);
    room_ = bytes;
  }
  const bool whole = packed.codec == log::Codec::kLz4
                         ? body.size() <= LZ4_MAX_INPUT_SIZE &&
                               LZ4_decompress_safe(body.data(), buffer_.get(), static_cast<int>(body.size()),
                                                   static_cast<int>(bytes)) == static_cast<int>(bytes)
                         : unpack_zstd(body, bytes);
  if (!whole) return "a packed entry whose content cannot be unpacked";
  *content = {buffer_.get(), bytes};
  return nullptr;
}

/// Unpacks a zstd frame into the buffer, and returns whether it has held `bytes`.
bool Unpacker::unpack_zstd(std::string_view body, std::size_t bytes) {
  if (zstd_ == nullptr) zstd_.reset(ZSTD_createDCtx());
  if (zstd_ == nullptr) throw std::bad_alloc();
  const std::size_t done = ZSTD_decompressDCtx(zstd_.get(), buffer_.get(), bytes, body.data(), body.size());
  if (ZSTD_getErrorCode(done) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return done == bytes;
}

void Unpacker::FreeZstd::operator()(ZSTD_DCtx_s* zstd) const { ZSTD_freeDCtx(zstd); }

}  // namespace granary::recovery
