// The log's bytes: sizes, names, checksums, and the reader of writes on any bytes. What loggers write: logger_test.cc.

#include "src/log/format.h"

#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/support/scale.h"

namespace granary::log {
namespace {

std::string write(std::uint32_t table, std::string_view key, std::optional<std::string_view> value) {
  const WriteHeader header{table, static_cast<std::uint32_t>(key.size()),
                           value ? static_cast<std::uint32_t>(value->size()) : kRemoved};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += key;
  if (value) bytes += *value;
  return bytes;
}

/// The same of a record of another node.
std::string elsewhere(std::uint32_t home, std::uint32_t table, std::string_view key, std::string_view value) {
  std::string bytes = write(table | kElsewhere, key, value);
  bytes.insert(sizeof(WriteHeader), reinterpret_cast<const char*>(&home), sizeof home);
  return bytes;
}

/// The same of a part of a value.
std::string part(std::uint32_t table, const PartHeader& header, std::string_view key,
                 std::optional<std::string_view> value) {
  std::string bytes = write(table | kPart, key, value);
  bytes.insert(sizeof(WriteHeader), reinterpret_cast<const char*>(&header), sizeof header);
  return bytes;
}

TEST(LogFormat, SegmentNamesSortByGenerationLoggerAndSequence) {
  EXPECT_EQ(segment_name(3, 2, 5), "log-g00000003-l02-s00000005.glog");
  EXPECT_LT(segment_name(3, 2, 9), segment_name(3, 2, 10));
  EXPECT_LT(segment_name(3, 9, 99), segment_name(3, 10, 0));
  EXPECT_LT(segment_name(9, 5, 5), segment_name(10, 0, 0));
}

TEST(LogFormat, EntriesArePaddedToEightBytes) {
  for (std::uint32_t body = 0; body < 40; ++body) {
    const EntryHeader header{body, 0, 1};
    EXPECT_EQ(header.bytes() % 8, 0u);
    EXPECT_GE(header.bytes(), sizeof header + body);
    EXPECT_LT(header.bytes(), sizeof header + body + 8);
  }
}

TEST(LogFormat, TidAndKindShareAWord) {
  const EntryHeader header{0, 0, (std::uint64_t{77} << 3) | static_cast<std::uint64_t>(EntryKind::kPacked)};
  EXPECT_EQ(header.kind(), EntryKind::kPacked);
  EXPECT_EQ(header.tid(), std::uint64_t{77} << 3);
}

TEST(LogFormat, AnEntryOfAnotherSegmentLoggerOrDatabaseDoesNotPass) {
  SegmentHeader here;
  here.database = {1, 2, 3};
  here.logger = 1;
  here.generation = 2;
  here.sequence = 3;
  here.seal();
  const std::string entry(sizeof(EntryHeader) + 24, 'e');
  const std::uint32_t right = entry_crc(here.crc, entry.data(), 24);
  const auto elsewhere = [&](auto change) {
    SegmentHeader other = here;
    change(other);
    other.seal();
    return entry_crc(other.crc, entry.data(), 24);
  };
  EXPECT_EQ(elsewhere([](SegmentHeader&) {}), right);
  EXPECT_NE(elsewhere([](SegmentHeader& other) { other.database[15] = 1; }), right);
  EXPECT_NE(elsewhere([](SegmentHeader& other) { other.stamp = 1; }), right);
  EXPECT_NE(elsewhere([](SegmentHeader& other) { other.logger = 2; }), right);
  EXPECT_NE(elsewhere([](SegmentHeader& other) { other.generation = 3; }), right);
  EXPECT_NE(elsewhere([](SegmentHeader& other) { other.sequence = 4; }), right);
}

TEST(LogFormat, TheChecksumCoversTidAndBodyBitByBit) {
  std::string entry(sizeof(EntryHeader) + 40, 'e');
  const std::uint32_t right = entry_crc(9, entry.data(), 40);
  for (std::size_t at = offsetof(EntryHeader, tid_and_kind); at < entry.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      entry[at] = static_cast<char>(entry[at] ^ (1 << bit));
      EXPECT_NE(entry_crc(9, entry.data(), 40), right) << "byte " << at << " bit " << bit;
      entry[at] = static_cast<char>(entry[at] ^ (1 << bit));
    }
  }
  EXPECT_NE(entry_crc(9, entry.data(), 39), right) << "the length";
}

TEST(LogFormat, TheSegmentHeadersChecksumCoversAllOfIt) {
  SegmentHeader header;
  header.seal();
  auto* const bytes = reinterpret_cast<unsigned char*>(&header);
  for (std::size_t at = 0; at < offsetof(SegmentHeader, crc); ++at) {
    bytes[at] ^= 1;
    EXPECT_NE(header.compute_crc(), header.crc) << "byte " << at;
    bytes[at] ^= 1;
  }
}

TEST(WriteReader, ReadsWhatWasWritten) {
  const std::string body = write(7, "key", "value") + write(8, "", "") + write(9, "gone", std::nullopt);
  EXPECT_EQ(body.size(), write_bytes(3, 5) + write_bytes(0, 0) + write_bytes(4, 0));
  WriteReader reader(body);
  Write got;
  ASSERT_TRUE(reader.next(&got));
  EXPECT_EQ(got.table, 7u);
  EXPECT_EQ(got.key, "key");
  EXPECT_EQ(got.value, "value");
  EXPECT_FALSE(got.removed);
  ASSERT_TRUE(reader.next(&got));
  EXPECT_EQ(got.key.size() + got.value.size(), 0u);
  ASSERT_TRUE(reader.next(&got));
  EXPECT_TRUE(got.removed);
  EXPECT_EQ(got.key, "gone");
  EXPECT_FALSE(reader.next(&got));
  EXPECT_FALSE(reader.malformed());
}

TEST(WriteReader, TellsWhoseRecordItIs) {
  const std::string body = elsewhere(12, 7, "key", "value") + write(8, "k", "v");
  EXPECT_EQ(body.size(), write_bytes(3, 5, true) + write_bytes(1, 1));
  WriteReader reader(body);
  Write got;
  ASSERT_TRUE(reader.next(&got));
  EXPECT_EQ(got.home, 12u);
  EXPECT_EQ(got.table, 7u);
  EXPECT_EQ(got.key, "key");
  EXPECT_EQ(got.value, "value");
  ASSERT_TRUE(reader.next(&got));
  EXPECT_EQ(got.home, std::nullopt);
  EXPECT_EQ(got.key, "k");
  EXPECT_FALSE(reader.next(&got));
  EXPECT_FALSE(reader.malformed());
}

TEST(WriteReader, TellsWhichPartOfAValueItIs) {
  const std::string body = part(7, {4, 9}, "key", "value") + write(8, "k", "v");
  EXPECT_EQ(body.size(), part_write_bytes(3, 5) + write_bytes(1, 1));
  WriteReader reader(body);
  Write got;
  ASSERT_TRUE(reader.next(&got));
  EXPECT_EQ(got.table, 7u);
  EXPECT_EQ(got.key, "key");
  EXPECT_EQ(got.value, "value");
  EXPECT_EQ(got.part->from, 4u);
  EXPECT_EQ(got.bytes_after(), 9u);
  ASSERT_TRUE(reader.next(&got));
  EXPECT_FALSE(got.part);
  EXPECT_EQ(got.bytes_after(), 1u);
  EXPECT_FALSE(reader.next(&got));
  EXPECT_FALSE(reader.malformed());
}

TEST(WriteReader, APartThatDoesNotFitIntoItsValueIsMalformed) {
  const auto is_malformed = [](const std::string& body) {
    WriteReader reader(body);
    Write got;
    return !reader.next(&got) && reader.malformed();
  };
  for (const PartHeader& header :
       {PartHeader{5, 9}, {9, 9}, {10, 9}, {0xffffffff, 9}, {0xfffffffb, 0xffffffff}, {0, 0}})
    EXPECT_TRUE(is_malformed(part(7, header, "key", "value"))) << header.from << " of " << header.whole_bytes;
  EXPECT_FALSE(is_malformed(part(7, {0xfffffffa, 0xffffffff}, "key", "value")));
  EXPECT_TRUE(is_malformed(part(7, {0, 9}, "key", ""))) << "none of its bytes";
  EXPECT_TRUE(is_malformed(part(7 | kElsewhere, {0, 9}, "key", "value"))) << "of another node's record";
  EXPECT_TRUE(is_malformed(part(7, {0, 9}, "key", std::nullopt))) << "of a removal";
}

TEST(WriteReader, EveryTruncationIsMalformedOrEndsAtAWrite) {
  for (const std::string& first : {elsewhere(3, 7, "key", "value"), part(7, {0, 9}, "key", "value")}) {
    const std::string body = first + write(9, "gone", std::nullopt);
    for (std::size_t length = 0; length <= body.size(); ++length) {
      WriteReader reader(std::string_view(body).substr(0, length));
      Write got;
      while (reader.next(&got)) {
      }
      const bool whole = length == 0 || length == first.size() || length == body.size();
      EXPECT_EQ(reader.malformed(), !whole) << length;
      EXPECT_FALSE(reader.next(&got)) << "goes on behind the end";
    }
  }
}

TEST(WriteReader, LengthsThatOverflowAreMalformed) {
  for (const std::uint32_t key_bytes : {4u, 5u, 0x7fffffffu, 0xfffffffeu, 0xffffffffu}) {
    for (const std::uint32_t value_bytes : {1u, 0x7fffffffu, 0xfffffffeu}) {
      const WriteHeader header{1, key_bytes, value_bytes};
      const std::string body = std::string(reinterpret_cast<const char*>(&header), sizeof header) + "abcd";
      WriteReader reader(body);
      Write got;
      EXPECT_FALSE(reader.next(&got)) << key_bytes << " " << value_bytes;
      EXPECT_TRUE(reader.malformed());
    }
  }
}

TEST(WriteReader, StaysInsideOnRandomBytes) {
  base::Random random(5);
  for (std::uint64_t round = 0; round < tests::scaled(20'000); ++round) {
    std::vector<char> body(random.below(120));
    for (char& byte : body) byte = static_cast<char>(random.chance(0.7) ? 0 : random.next());
    WriteReader reader({body.data(), body.size()});
    Write got;
    std::size_t bytes = 0;
    while (reader.next(&got)) {
      ASSERT_TRUE(got.key.data() >= body.data() && got.value.data() + got.value.size() <= body.data() + body.size());
      bytes += got.part ? part_write_bytes(got.key.size(), got.value.size())
                        : write_bytes(got.key.size(), got.value.size(), got.home.has_value());
    }
    ASSERT_LE(bytes, body.size());
    ASSERT_EQ(reader.malformed(), bytes != body.size()) << "round " << round;
  }
}

}  // namespace
}  // namespace granary::log
