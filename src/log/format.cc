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

bool WriteReader::next(Write* write) {
  if (rest_.empty() || malformed_) return false;
  WriteHeader header;
  malformed_ = true;  // unless all of it is there
  if (rest_.size() < sizeof header) return false;
  std::memcpy(&header, rest_.data(), sizeof header);
  rest_.remove_prefix(sizeof header);
  std::optional<std::uint32_t> home;
  if ((header.table & kElsewhere) != 0) {
    if (rest_.size() < sizeof *home) return false;
    std::memcpy(&home.emplace(), rest_.data(), sizeof *home);
    rest_.remove_prefix(sizeof *home);
  }
  const bool removed = header.value_bytes == kRemoved;
  const std::size_t value_bytes = removed ? 0 : header.value_bytes;
  if (rest_.size() < header.key_bytes || rest_.size() - header.key_bytes < value_bytes) return false;
  *write = {.table = header.table & ~kElsewhere,
            .removed = removed,
            .key = rest_.substr(0, header.key_bytes),
            .value = rest_.substr(header.key_bytes, value_bytes),
            .home = home};
  rest_.remove_prefix(header.key_bytes + value_bytes);
  malformed_ = false;
  return true;
}

}  // namespace granary::log
