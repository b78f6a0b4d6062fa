// One segment, and everything that can be wrong with it: what is read is a prefix of what was written, or there is a
// fault that says where.
// Not here: what that means for the database (log_scan_test.cc).

#include "recovery/segment_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/recovery/segment_builder.h"

namespace granary::recovery {
namespace {

using log::EntryKind;
using testing::HasSubstr;
using tests::SegmentBuilder;
using Found = SegmentReader::Found;
using Verdict = SegmentReader::Verdict;

constexpr SegmentName kName{3, 2, 5};

struct Read {
  std::vector<std::string> items;  // as text, up to the first fault
  std::vector<std::string> behind;
  std::vector<Fault> faults;
  Verdict verdict = Verdict::kClean;
  Status header;
};

std::string text_of(const SegmentReader& reader, Found found) {
  if (found == Found::kContinues) return "c" + std::to_string(reader.next_segment());
  if (found == Found::kMarker)
    return "m" + std::to_string(reader.marker().complete) + "/" + std::to_string(reader.marker().durable);
  return "t" + std::to_string(reader.tid()) + ":" + std::string(reader.body());
}

Read read(std::string_view bytes, const log::DatabaseId& database = tests::kDatabase, SegmentName name = kName,
          log::Stamp stamp = 0) {
  Read result;
  auto reader = SegmentReader::open(bytes, "S", expected_header(database, name, stamp));
  if (!reader.ok()) {
    result.header = reader.status();
    return result;
  }
  for (;;) {
    const Found found = reader->next();
    if (found == Found::kEnd) break;
    if (found == Found::kFault) {
      EXPECT_LE(reader->fault().offset, bytes.size());
      EXPECT_GT(reader->fault().next.value_or(~0ull), reader->fault().offset);
      result.faults.push_back(reader->fault());
      continue;
    }
    (result.faults.empty() ? result.items : result.behind).push_back(text_of(*reader, found));
  }
  result.verdict = reader->verdict();
  return result;
}

std::string list_of(int count) {
  std::string entries;
  for (int i = 1; i <= count; ++i)
    entries += tests::entry_of(record::make_tid(8, i), EntryKind::kTransaction, tests::body_of({{0, "p", "packed"}}));
  return entries;
}

std::string small_segment() {
  return SegmentBuilder(kName)
      .marker(4, 4)
      .transaction(5, 1, {{0, "a", "1"}, {1, "bb", std::nullopt}})
      .transaction(5, 2, {{0, "key", "some value of a few bytes"}})
      .marker(5, 4)
      .packed(log::Codec::kLz4, list_of(3))
      .packed(log::Codec::kZstd, list_of(4))
      .marker(8, 5)
      .transaction(9, 1, {})
      .bytes();
}

bool is_prefix(const std::vector<std::string>& prefix, const std::vector<std::string>& whole) {
  return prefix.size() <= whole.size() && std::equal(prefix.begin(), prefix.end(), whole.begin());
}

TEST(SegmentReader, Names) {
  EXPECT_EQ(parse_segment_name(log::segment_name(3, 2, 5)), kName);
  EXPECT_EQ(parse_segment_name(log::segment_name(~0ull, ~0u, ~0ull)), (SegmentName{~0ull, ~0u, ~0ull}));
  for (const char* name :
       {"", "log-g3-l2-s5.glog", "log-g00000003-l02-s00000005.glog2", "log-g00000003-l02-s0000000x.glog", "MANIFEST",
        "log-g99999999999999999999-l02-s00000005.glog"}) {
    EXPECT_FALSE(parse_segment_name(name)) << name;
  }
}

TEST(SegmentReader, ReadsWhatWasWritten) {
  const Read all = read(small_segment());
  EXPECT_EQ(all.items.size(), 3 + 3 + 7 + 0 + 0u);
  EXPECT_EQ(all.items.front(), "m4/4");
  EXPECT_THAT(all.items[4], HasSubstr("packed"));
  EXPECT_TRUE(all.faults.empty());
  EXPECT_EQ(all.verdict, Verdict::kClean);
}

TEST(SegmentReader, EveryTruncationGivesAPrefix) {
  const std::string bytes = small_segment();
  const Read whole = read(bytes);
  std::size_t before = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Read cut = read(std::string_view(bytes).substr(0, size));
    ASSERT_TRUE(cut.header.ok()) << size;
    ASSERT_TRUE(is_prefix(cut.items, whole.items)) << size;
    EXPECT_GE(cut.items.size(), before) << size;
    before = cut.items.size();
    EXPECT_TRUE(cut.behind.empty());
    ASSERT_LE(cut.faults.size(), 1u);
    EXPECT_EQ(cut.verdict, cut.faults.empty() ? Verdict::kClean : Verdict::kTornTail) << size;
    if (!cut.faults.empty()) {
      EXPECT_FALSE(cut.faults[0].next);
    } else {
      EXPECT_GT(cut.items.size() + (size == 64), 0u);  // the end of an entry
    }
  }
}

TEST(SegmentReader, EveryFlippedBitGivesAPrefixOrDamage) {
  const std::string bytes = small_segment();
  const Read whole = read(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Read found = read(flipped);
    if (bit < 8 * sizeof(log::SegmentHeader)) {
      ASSERT_EQ(found.header.code(), StatusCode::kDamaged) << bit;
      EXPECT_THAT(found.header.message(), testing::AllOf(HasSubstr("'S'"), HasSubstr("expected")));
      continue;
    }
    ASSERT_TRUE(found.header.ok()) << bit;
    if (found.faults.empty()) {
      EXPECT_EQ(found.items, whole.items) << "a bit of padding, at most: " << bit;
      continue;
    }
    ASSERT_TRUE(is_prefix(found.items, whole.items)) << bit;
    ASSERT_EQ(found.faults.size(), 1u) << bit;
    EXPECT_LE(found.faults[0].offset, bit / 8);
    // What is behind is a suffix, and it is missed only where there is none.
    ASSERT_TRUE(is_prefix({found.behind.rbegin(), found.behind.rend()}, {whole.items.rbegin(), whole.items.rend()}))
        << bit;
    EXPECT_EQ(found.verdict, found.behind.empty() ? Verdict::kTornTail : Verdict::kDamaged) << bit;
    EXPECT_EQ(found.faults[0].next.has_value(), !found.behind.empty()) << bit;
    EXPECT_LT(found.items.size(), whole.items.size());
  }
}

TEST(SegmentReader, RefusesOtherSegments) {
  const std::string bytes = small_segment();
  const auto message = [&](const Read& found) {
    EXPECT_EQ(found.header.code(), StatusCode::kDamaged);
    return found.header.message();
  };
  EXPECT_THAT(message(read(bytes, log::DatabaseId{})), HasSubstr("database 0102"));
  EXPECT_THAT(message(read(bytes, tests::kDatabase, {4, 2, 5})), HasSubstr("generation 3, expected 4"));
  EXPECT_THAT(message(read(bytes, tests::kDatabase, {3, 1, 5})), HasSubstr("logger 2, expected 1"));
  EXPECT_THAT(message(read(bytes, tests::kDatabase, {3, 2, 6})), HasSubstr("sequence 5, expected 6"));
  std::string other = bytes;
  other[8] = 5;
  EXPECT_THAT(message(read(other)), HasSubstr("format version 5, expected 9 or 10, or 6 or 7 of former releases"));
  std::swap(other[12], other[15]);
  EXPECT_THAT(message(read(other)), HasSubstr("byte order"));
}

/// A log goes on in the version of another release, segment by segment.
TEST(SegmentReader, ReadsTheVersionsOfFormerReleases) {
  for (const std::uint32_t version :
       {log::kFormatVersion, log::kClusterFormatVersion, log::kFormerVersion, log::kFormerClusterVersion}) {
    const SegmentBuilder segment(kName, tests::kDatabase, 0, version);
    EXPECT_EQ(read(SegmentBuilder(segment).transaction(5, 1, {{0, "a", "1"}}).bytes()).items.size(), 1u) << version;
  }
  for (const std::uint32_t version : {5u, 8u, 11u}) {
    const Status refused = read(SegmentBuilder(kName, tests::kDatabase, 0, version).bytes()).header;
    EXPECT_THAT(refused.message(), HasSubstr("format version " + std::to_string(version)));
  }
}

/// A copy that goes on by itself begins a generation of the same number, with segments of the same names.
TEST(SegmentReader, RefusesASegmentOfAnotherLife) {
  const std::string theirs = SegmentBuilder(kName, tests::kDatabase, 0xabc).transaction(5, 1, {{0, "a", "1"}}).bytes();
  EXPECT_EQ(read(theirs, tests::kDatabase, kName, 0xabc).items.size(), 1u);
  EXPECT_EQ(read(theirs).items.size(), 1u) << "of a generation that the manifest does not know";
  const Status refused = read(theirs, tests::kDatabase, kName, 0xdef).header;
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_EQ(refused.message(),
            "'S' is of another life of this database: it has stamp 0000000000000abc, and the manifest says "
            "0000000000000def");
  const std::string mine = SegmentBuilder(kName, tests::kDatabase, 0xdef).bytes();
  EXPECT_TRUE(read(mine + theirs.substr(64), tests::kDatabase, kName, 0xdef).items.empty())
      << "nor do its entries pass";
}

/// Entries of another segment do not pass as this one's, even in the right place.
TEST(SegmentReader, ForeignEntriesFail) {
  const std::string mine = SegmentBuilder(kName).transaction(5, 1, {{0, "a", "1"}}).bytes();
  const std::string other = SegmentBuilder({3, 2, 4}).transaction(5, 1, {{0, "a", "0"}}).bytes();
  const Read found = read(mine.substr(0, 64) + other.substr(64));
  EXPECT_TRUE(found.items.empty());
  EXPECT_EQ(found.verdict, Verdict::kTornTail);
}

TEST(SegmentReader, HolesAreDamageWhereSomethingFollows) {
  std::string bytes = small_segment();
  const std::size_t at = 64 + 40;
  std::fill_n(bytes.begin() + at, 48, '\0');
  Read found = read(bytes);
  EXPECT_EQ(found.items, std::vector<std::string>{"m4/4"});
  ASSERT_EQ(found.faults.size(), 1u);
  EXPECT_EQ(found.faults[0].offset, at);
  EXPECT_EQ(found.faults[0].cause, "zeros instead of an entry");
  EXPECT_EQ(found.verdict, Verdict::kDamaged);
  found = read(small_segment() + std::string(1000, '\0'));
  EXPECT_EQ(found.verdict, Verdict::kClean) << "what a block was filled up with";
  EXPECT_EQ(found.items, read(small_segment()).items);
  for (std::size_t written = 0; written < 60; ++written) {
    const std::string unfinished = small_segment().substr(0, written) + std::string(4096 - written, '\0');
    EXPECT_EQ(read(unfinished).verdict, Verdict::kTornTail) << "a file that was set aside, " << written;
  }
}

TEST(SegmentReader, MarkersOfFormerReleasesSayNothingOfTheCluster) {
  const std::uint64_t former[] = {7, 6};
  const std::string bytes = SegmentBuilder(kName)
                                .marker(8, 7, 5)
                                .entry(0, EntryKind::kMarker, {reinterpret_cast<const char*>(former), sizeof former})
                                .bytes();
  auto reader = SegmentReader::open(bytes, "S", expected_header(tests::kDatabase, kName, 0));
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(reader->next(), Found::kMarker);
  EXPECT_EQ(reader->marker().released, 5u);
  ASSERT_EQ(reader->next(), Found::kMarker);
  EXPECT_EQ(reader->marker().complete, 7u);
  EXPECT_EQ(reader->marker().released, 0u);
}

TEST(SegmentReader, NonsenseWithARightChecksum) {
  const auto faults = [](const tests::SegmentBuilder& builder) { return read(builder.bytes()).faults.size(); };
  const auto packed = [](std::uint32_t codec, std::uint32_t raw, std::string_view content) {
    const std::uint32_t header[] = {codec, raw};
    return std::string(reinterpret_cast<const char*>(header), 8) + std::string(content);
  };
  EXPECT_EQ(faults(SegmentBuilder(kName).entry(0, EntryKind::kTransaction, "x")), 1u);
  EXPECT_EQ(faults(SegmentBuilder(kName).entry(0, EntryKind::kMarker, "x")), 1u);
  EXPECT_EQ(faults(SegmentBuilder(kName).marker(3, 4)), 1u);
  EXPECT_EQ(faults(SegmentBuilder(kName).marker(~0ull, 4)), 1u);
  EXPECT_EQ(faults(SegmentBuilder(kName).marker(4, 4, ~0ull)), 1u);
  EXPECT_EQ(faults(SegmentBuilder(kName).entry(8, static_cast<EntryKind>(5), "x")), 1u);
  for (const std::string& body :
       {std::string("x"), packed(3, 8, "12345678"), packed(1, 0xffffffff, "12345678"), packed(1, 2000, "1234567"),
        packed(1, 100, "\x10"), packed(2, 100, "1234567890"), packed(2, 0xffffffff, ""), packed(1, 100, "")}) {
    EXPECT_EQ(faults(SegmentBuilder(kName).entry(0, EntryKind::kPacked, body)), 1u) << body;
  }
  EXPECT_EQ(faults(SegmentBuilder(kName).packed(log::Codec::kZstd, list_of(2) + "123")), 1u);
  EXPECT_EQ(faults(SegmentBuilder(kName).packed(log::Codec::kLz4, list_of(2) + std::string(16, '\0'))), 1u);
}

TEST(SegmentReader, RandomBytesDoNoHarm) {
  base::Random random(7);
  const std::string whole = small_segment();
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 8; ++i) {
      const std::size_t at = 64 + random.below(bytes.size() - 64);
      const std::size_t count = std::min<std::size_t>(random.below(40), bytes.size() - at);
      for (std::size_t k = 0; k < count; ++k) bytes[at + k] = static_cast<char>(random.next());
    }
    bytes.resize(64 + random.below(bytes.size() - 64));
    const Read found = read(bytes);
    ASSERT_TRUE(is_prefix(found.items, read(whole).items)) << round;
  }
}

}  // namespace
}  // namespace granary::recovery
