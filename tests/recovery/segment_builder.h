#pragma once
// Makes log segments by hand, as src/log/logger.cc writes them but with exactly the entries a test wants.

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "recovery/segment_reader.h"
#include "src/log/format.h"
#include "src/record/tid.h"

namespace granary::tests {

inline constexpr log::DatabaseId kDatabase = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct TestWrite {
  std::uint32_t table = 0;
  std::string key;
  std::optional<std::string> value;  // none: removed
  std::optional<std::uint32_t> home = std::nullopt;
  std::optional<log::PartHeader> part = std::nullopt;
};

inline std::uint32_t marked(const TestWrite& write) {
  return write.table | (write.home ? log::kElsewhere : 0) | (write.part ? log::kPart : 0);
}

/// The body of a transaction.
inline std::string body_of(const std::vector<TestWrite>& writes) {
  std::string body;
  for (const TestWrite& write : writes) {
    const log::WriteHeader header{marked(write), static_cast<std::uint32_t>(write.key.size()),
                                  write.value ? static_cast<std::uint32_t>(write.value->size()) : log::kRemoved};
    body.append(reinterpret_cast<const char*>(&header), sizeof header);
    if (write.home) body.append(reinterpret_cast<const char*>(&*write.home), sizeof *write.home);
    if (write.part) body.append(reinterpret_cast<const char*>(&*write.part), sizeof *write.part);
    body += write.key + write.value.value_or("");
  }
  return body;
}

/// An entry without its checksum.
inline std::string entry_of(std::uint64_t tid, log::EntryKind kind, std::string_view body) {
  const log::EntryHeader header{static_cast<std::uint32_t>(body.size()), 0, tid | static_cast<std::uint64_t>(kind)};
  std::string entry(reinterpret_cast<const char*>(&header), sizeof header);
  entry += body;
  entry.resize(header.bytes(), '\0');
  return entry;
}

class SegmentBuilder {
 public:
  explicit SegmentBuilder(const recovery::SegmentName& name, const log::DatabaseId& database = kDatabase,
                          log::Stamp stamp = 0, std::uint32_t version = log::kFormatVersion) {
    log::SegmentHeader header = recovery::expected_header(database, name, stamp);
    header.version = version;
    header.seal();
    crc_ = header.crc;
    bytes_.assign(reinterpret_cast<const char*>(&header), sizeof header);
  }

  SegmentBuilder& entry(std::uint64_t tid, log::EntryKind kind, std::string_view body) {
    std::string entry = entry_of(tid, kind, body);
    const std::uint32_t crc = log::entry_crc(crc_, entry.data(), body.size());
    std::memcpy(entry.data() + offsetof(log::EntryHeader, crc), &crc, sizeof crc);
    bytes_ += entry;
    return *this;
  }
  SegmentBuilder& transaction(std::uint64_t epoch, std::uint64_t sequence, const std::vector<TestWrite>& writes) {
    return entry(record::make_tid(epoch, sequence), log::EntryKind::kTransaction, body_of(writes));
  }
  SegmentBuilder& marker(std::uint64_t complete, std::uint64_t durable, std::uint64_t released = 0) {
    const log::Marker marker{complete, durable, released};
    return entry(0, log::EntryKind::kMarker, {reinterpret_cast<const char*>(&marker), sizeof marker});
  }
  SegmentBuilder& continues(std::uint64_t sequence) {
    return entry(0, log::EntryKind::kContinues, {reinterpret_cast<const char*>(&sequence), sizeof sequence});
  }
  SegmentBuilder& packed(log::Codec codec, std::string_view entries) {
    const log::PackedHeader header{codec, static_cast<std::uint32_t>(entries.size())};
    std::string body(reinterpret_cast<const char*>(&header), sizeof header);
    std::string room(ZSTD_compressBound(entries.size()) + 64, '\0');
    const int raw = static_cast<int>(entries.size());
    const std::size_t bytes = codec == log::Codec::kLz4
                                  ? static_cast<std::size_t>(LZ4_compress_default(entries.data(), room.data(), raw,
                                                                                  static_cast<int>(room.size())))
                                  : ZSTD_compress(room.data(), room.size(), entries.data(), entries.size(), 1);
    return entry(0, log::EntryKind::kPacked, body + room.substr(0, bytes));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::uint32_t crc_;
  std::string bytes_;
};

}  // namespace granary::tests
