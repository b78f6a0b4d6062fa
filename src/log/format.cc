#include "src/log/format.h"

#include <fmt/format.h>

#include <random>

#include "src/base/crc32c.h"

namespace granary::log {

std::string to_text(const DatabaseId& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Stamp new_stamp() {
  std::random_device random;
  Stamp stamp = 0;
  while (stamp == 0) stamp = std::uint64_t{random()} << 32 | random();
  return stamp;
}

std::string stamp_text(Stamp stamp) { return fmt::format("{:016x}", stamp); }

std::uint32_t SegmentHeader::compute_crc() const { return base::crc32c(0, this, offsetof(SegmentHeader, crc)); }

std::string segment_name(std::uint64_t generation, std::uint32_t logger, std::uint64_t sequence) {
  return fmt::format("log-g{:08}-l{:02}-s{:08}.glog", generation, logger, sequence);
}

std::uint32_t entry_crc(std::uint32_t segment_crc, const char* entry, std::size_t body_bytes) {
  constexpr std::size_t kFrom = offsetof(EntryHeader, tid_and_kind);
  return base::crc32c(segment_crc, entry + kFrom, sizeof(EntryHeader) - kFrom + body_bytes);
}

template <typename Plain>
bool WriteReader::take(Plain* plain) {
  if (rest_.size() < sizeof *plain) return false;
  std::memcpy(plain, rest_.data(), sizeof *plain);
  rest_.remove_prefix(sizeof *plain);
  return true;
}

/// Reads the bytes between the header and the key of a write that is marked with kElsewhere or kPart. Returns false if
/// they are malformed.
bool WriteReader::take_marked(const WriteHeader& header, Write* write) {
  if ((header.table & kPart) == 0) return take(&write->home.emplace());
  if ((header.table & kElsewhere) != 0 || header.value_bytes == kRemoved || !take(&write->part.emplace())) return false;
  const PartHeader& part = *write->part;
  return header.value_bytes != 0 && part.from <= part.whole_bytes && header.value_bytes <= part.whole_bytes - part.from;
}

bool WriteReader::next(Write* write) {
  if (rest_.empty() || malformed_) return false;
  WriteHeader header;
  malformed_ = true;  // holds until all of the write has been found
  if (!take(&header)) return false;
  *write = Write();
  write->table = header.table & ~(kElsewhere | kPart);
  write->removed = header.value_bytes == kRemoved;
  if ((header.table & (kElsewhere | kPart)) != 0 && !take_marked(header, write)) return false;
  const std::size_t value_bytes = write->removed ? 0 : header.value_bytes;
  if (rest_.size() < header.key_bytes || rest_.size() - header.key_bytes < value_bytes) return false;
  write->key = rest_.substr(0, header.key_bytes);
  write->value = rest_.substr(header.key_bytes, value_bytes);
  rest_.remove_prefix(header.key_bytes + value_bytes);
  malformed_ = false;
  return true;
}

}  // namespace granary::log
