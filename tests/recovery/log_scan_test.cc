// From segments to D: what counts, what is dropped, what is lost. Databases made by hand, read through a file system in
// memory.

#include "recovery/log_scan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::SegmentBuilder;

std::string path(const SegmentName& name, const char* directory = "/a") {
  return std::string(directory) + "/" + log::segment_name(name.generation, name.logger, name.sequence);
}

struct Directories {
  Directories() {
    EXPECT_TRUE(disk.make_directory("/a").ok());
    EXPECT_TRUE(disk.make_directory("/b").ok());
    manifest.database = tests::kDatabase;
    manifest.log_directories = {"/a", "/b"};
    manifest.generations = {{1, 2, 10, std::nullopt, 0}};
  }
  void put_segment(const SegmentName& name, const SegmentBuilder& builder, const char* directory = "/a") {
    disk.put(path(name, directory), builder.bytes());
  }
  Result<LogScan> scan(bool salvage = false, unsigned threads = 1) {
    return scan_logs(disk, manifest, {.threads = threads, .salvage = salvage});
  }
  std::string message() {
    const auto scanned = scan();
    EXPECT_FALSE(scanned.ok());
    EXPECT_EQ(scanned.status().code(), StatusCode::kDamaged);
    return scanned.status().message();
  }
  epoch::Epoch durable() {
    const auto scanned = scan();
    EXPECT_TRUE(scanned.ok()) << scanned.status().message();
    return scanned.ok() ? scanned->durable : 0;
  }

  tests::FaultFiles disk;
  Manifest manifest;
};

SegmentBuilder segment(const SegmentName& name) { return SegmentBuilder(name); }

/// Two loggers; the second has marked one epoch less.
struct TwoLoggers : Directories {
  TwoLoggers() {
    put_segment({1, 0, 0}, segment({1, 0, 0})
                               .marker(9, 9)
                               .transaction(10, 1, {{0, "a", "1"}})
                               .marker(10, 9)
                               .transaction(11, 1, {{0, "a", "2"}})
                               .marker(11, 10)
                               .transaction(12, 1, {{0, "a", "3"}})
                               .marker(12, 11)
                               .transaction(13, 1, {{0, "a", "4"}}));
    put_segment({1, 1, 0}, segment({1, 1, 0}).marker(9, 9).transaction(10, 2, {{0, "b", "1"}}).marker(10, 9), "/b");
    put_segment({1, 1, 1}, segment({1, 1, 1}).marker(10, 9).transaction(11, 2, {{0, "b", "2"}}).marker(11, 10), "/b");
  }
};

TEST(LogScan, DurableIsTheLeastOfTheLastMarkers) {
  TwoLoggers files;
  for (const unsigned threads : {1u, 3u}) {
    const auto scanned = files.scan(false, threads);
    ASSERT_TRUE(scanned.ok()) << scanned.status().message();
    EXPECT_EQ(scanned->durable, 11u);
    EXPECT_EQ(scanned->greatest_epoch, 13u);
    EXPECT_EQ(scanned->transactions, 6u);
    EXPECT_TRUE(scanned->tails.empty());
    ASSERT_EQ(scanned->segments.size(), 3u);
    for (const LogSegment& found : scanned->segments) {
      EXPECT_EQ(found.limit, 11u);
      EXPECT_TRUE(found.running);
    }
  }
}

/// The manifest knows a generation only when all its loggers have one: their logs do not vanish unnoticed.
TEST(LogScan, ALoggerWithoutMarkersLostThem) {
  Directories files;
  EXPECT_THAT(files.message(), AllOf(HasSubstr("nothing else tells how far the log went"), Not(HasSubstr("is lost"))));
  files.put_segment({1, 0, 0}, segment({1, 0, 0}).marker(10, 9));
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 0}, "/b")), HasSubstr("missing")));
  const std::string begun = segment({1, 1, 0}).transaction(5, 1, {{0, "from", "a ring"}}).marker(9, 9).bytes();
  for (std::size_t size = 0; size < begun.size(); ++size) {
    files.disk.put(path({1, 1, 0}, "/b"), begun.substr(0, size));
    EXPECT_THAT(files.message(), HasSubstr(path({1, 1, 0}, "/b"))) << size;
  }
  files.disk.put(path({1, 1, 0}, "/b"), begun);
  EXPECT_EQ(files.durable(), 9u);
}

/// An opening that did not come to its end leaves a generation that the manifest does not know; not one that served.
TEST(LogScan, AbandonedGenerations) {
  TwoLoggers files;
  const SegmentName name{2, 0, 0};
  SegmentBuilder begun = segment(name).transaction(11, 7, {{0, "from", "a ring"}}).marker(19, 19);
  for (std::size_t size = 0; size <= begun.bytes().size(); ++size) {
    files.disk.put(path(name), begun.bytes().substr(0, size));
    const auto scanned = files.scan();
    ASSERT_TRUE(scanned.ok()) << size << scanned.status().message();
    EXPECT_EQ(scanned->abandoned, std::vector<std::string>{path(name)});
    EXPECT_EQ(scanned->durable, 11u);
    EXPECT_EQ(scanned->segments.size(), 3u);
  }
  files.put_segment(name, begun.marker(20, 19));
  EXPECT_EQ(files.durable(), 11u);
  files.put_segment(name, begun.transaction(20, 1, {}));
  EXPECT_THAT(files.message(),
              AllOf(HasSubstr(path(name)), HasSubstr("generation 2, which the manifest does not know")));
}

TEST(LogScan, LostDurableDataIsNoticed) {
  TwoLoggers files;
  files.put_segment({1, 0, 1}, segment({1, 0, 1}).marker(12, 11).marker(13, 12));
  EXPECT_THAT(files.message(),
              AllOf(HasSubstr(path({1, 1, 1}, "/b")), HasSubstr("up to epoch 11"), HasSubstr("epoch 12 was durable")));
  ASSERT_TRUE(files.disk.remove(path({1, 1, 1}, "/b")).ok());
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 0}, "/b")), HasSubstr("up to epoch 10")));
  ASSERT_TRUE(files.disk.remove(path({1, 1, 0}, "/b")).ok());
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 0}, "/b")), HasSubstr("missing")));
}

TEST(LogScan, TornTailIsReported) {
  TwoLoggers files;
  files.put_segment({1, 0, 0}, segment({1, 0, 0}).marker(9, 9).marker(10, 9).marker(11, 10));
  const std::string whole = files.disk.contents(path({1, 1, 1}, "/b"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    files.disk.put(path({1, 1, 1}, "/b"), whole.substr(0, size));
    const auto scanned = files.scan();
    ASSERT_TRUE(scanned.ok()) << size << scanned.status().message();
    EXPECT_EQ(scanned->durable, 10u);
    if (scanned->tails.empty()) continue;
    EXPECT_EQ(scanned->tails[0].path, path({1, 1, 1}, "/b"));
    EXPECT_EQ(scanned->tails[0].offset + scanned->tails[0].bytes, size);
  }
}

TEST(LogScan, TornMiddleSegmentIsDamage) {
  TwoLoggers files;
  const std::string whole = files.disk.contents(path({1, 1, 0}, "/b"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string left = whole.substr(0, size) + std::string(size % 3 * 100, '\0');
    if (left.starts_with(whole)) continue;  // only zeros were cut off, and are there again
    files.disk.put(path({1, 1, 0}, "/b"), left);
    EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 0}, "/b")), HasSubstr("offset")));
  }
}

/// Every bit of every segment: the same as before, a tail that was not durable, or an error that names the file.
TEST(LogScan, EveryFlippedBitIsATailOrDamage) {
  TwoLoggers files;
  for (const std::string& file : files.disk.paths()) {
    const std::string whole = files.disk.contents(file);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      files.disk.edit(file,
                      [&](std::string& bytes) { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8)); });
      const auto scanned = files.scan();
      if (!scanned.ok()) {
        EXPECT_EQ(scanned.status().code(), StatusCode::kDamaged);
        EXPECT_THAT(scanned.status().message(), HasSubstr(file));
      } else if (scanned->tails.empty()) {
        EXPECT_EQ(scanned->transactions, 6u) << file << " " << bit;
        EXPECT_EQ(scanned->durable, 11u);
      } else {
        EXPECT_GE(scanned->durable, 10u) << "no marker names more as durable";
        EXPECT_EQ(scanned->tails[0].path, file);
      }
      files.disk.put(file, whole);
    }
  }
}

TEST(LogScan, DamageInTheMiddle) {
  Directories files;
  files.manifest.generations[0].loggers = 1;
  const std::string good = segment({1, 0, 0})
                               .marker(9, 9)
                               .transaction(10, 1, {{0, "a", "1"}})
                               .marker(10, 9)
                               .transaction(11, 1, {{0, "a", "2"}})
                               .bytes();
  const std::string last = segment({1, 0, 0}).marker(11, 10).bytes().substr(64);
  const std::string more = segment({1, 0, 0}).transaction(12, 1, {}).marker(12, 11).bytes().substr(64);
  std::string bytes = good + last;
  bytes[good.size() - 5] ^= 1;
  // The marker behind says that epoch 11 was to be durable; whether it was nobody can tell. It is void.
  files.disk.put(path({1, 0, 0}), bytes);
  auto scanned = files.scan();
  ASSERT_TRUE(scanned.ok()) << scanned.status().message();
  EXPECT_EQ(scanned->durable, 10u);
  EXPECT_EQ(scanned->greatest_epoch, 11u) << "the next generation begins behind it";
  ASSERT_EQ(scanned->tails.size(), 1u);
  ASSERT_EQ(scanned->segments[0].chunks.size(), 1u);
  EXPECT_EQ(scanned->segments[0].chunks[0].end, scanned->tails[0].offset);
  // Now a later marker says that it was.
  files.disk.put(path({1, 0, 0}), bytes + more);
  EXPECT_THAT(files.message(),
              AllOf(HasSubstr(path({1, 0, 0})), HasSubstr("offset " + std::to_string(good.size() - 32)),
                    HasSubstr("checksum"), HasSubstr("epoch 11 was durable")));
  scanned = files.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok()) << scanned.status().message();
  EXPECT_EQ(scanned->durable, 12u);
  ASSERT_EQ(scanned->losses.size(), 1u);
  EXPECT_EQ(scanned->losses[0].path, path({1, 0, 0}));
  EXPECT_EQ(scanned->losses[0].offset, good.size() - 32);
  EXPECT_EQ(scanned->losses[0].bytes, 32u);
  EXPECT_EQ(scanned->losses[0].first_epoch, 11u);
  EXPECT_EQ(scanned->losses[0].last_epoch, 13u);
  EXPECT_EQ(scanned->segments[0].chunks.size(), 2u);
}

TEST(LogScan, AGapIsDamage) {
  TwoLoggers files;
  files.put_segment({1, 1, 3}, segment({1, 1, 3}).marker(12, 11), "/b");
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 2}, "/b")), HasSubstr("missing")));
  const auto scanned = files.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok());
  ASSERT_EQ(scanned->losses.size(), 1u);
  EXPECT_EQ(scanned->losses[0].first_epoch, 12u);
  EXPECT_EQ(scanned->durable, 12u);
}

TEST(LogScan, SalvageSaysWhatIsLost) {
  // The end of a log that was durable.
  TwoLoggers files;
  files.disk.edit(path({1, 1, 1}, "/b"), [](std::string& bytes) { bytes.resize(64 + 40 + 8); });
  EXPECT_THAT(files.message(), HasSubstr(path({1, 1, 1}, "/b")));
  auto scanned = files.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok());
  ASSERT_EQ(scanned->losses.size(), 1u);
  EXPECT_EQ(scanned->losses[0].offset, 64u + 40);
  EXPECT_EQ(scanned->losses[0].bytes, 8u);
  EXPECT_EQ(scanned->losses[0].first_epoch, 11u);
  EXPECT_EQ(scanned->losses[0].last_epoch, 11u);
  EXPECT_EQ(scanned->durable, 11u) << "what the other logger has of epoch 11 stays";
  // Nothing to salvage: as without.
  TwoLoggers whole;
  scanned = whole.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(scanned->durable, 11u);
  EXPECT_TRUE(scanned->losses.empty());
  // A header: its entries are whole all the same.
  whole.disk.edit(path({1, 0, 0}), [](std::string& bytes) { bytes[40] ^= 1; });
  EXPECT_THAT(whole.message(), HasSubstr("a header with checksum"));
  scanned = whole.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(scanned->losses.size(), 1u);
  EXPECT_EQ(scanned->transactions, 6u);
  EXPECT_EQ(scanned->durable, 11u);
  // All of a log.
  ASSERT_TRUE(whole.disk.remove(path({1, 0, 0})).ok());
  scanned = whole.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok());
  ASSERT_FALSE(scanned->losses.empty());
  EXPECT_EQ(scanned->losses[0].path, path({1, 0, 0}));
  EXPECT_EQ(scanned->losses[0].first_epoch, 10u);
}

/// What a checkpoint lets go, the manifest says; nothing else may be missing.
TEST(LogScan, TheFirstSegmentIsTheOneThatTheManifestNames) {
  TwoLoggers files;
  const std::string whole = files.disk.contents(path({1, 1, 0}, "/b"));
  ASSERT_TRUE(files.disk.remove(path({1, 1, 0}, "/b")).ok());
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 0}, "/b")), HasSubstr("missing")));
  files.manifest.checkpoint = {11, "c"};
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 0}, "/b")), HasSubstr("missing")));
  files.manifest.generations[0].segments = {{0}, {1}};
  EXPECT_EQ(files.durable(), 11u);
  // The process died before it was removed: whatever is in it.
  files.disk.put(path({1, 1, 0}, "/b"), whole.substr(0, 70));
  EXPECT_EQ(files.durable(), 11u);
  EXPECT_EQ(files.scan()->superseded, std::vector<std::string>{path({1, 1, 0}, "/b")});
  ASSERT_TRUE(files.disk.remove(path({1, 1, 1}, "/b")).ok());
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 1}, "/b")), HasSubstr("missing")));
  const auto scanned = files.scan(/*salvage=*/true);
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(scanned->losses.at(0).path, path({1, 1, 1}, "/b"));
}

TEST(LogScan, ASegmentThatGoesOnIsNotTheLast) {
  TwoLoggers files;
  const SegmentName name{1, 1, 1};
  const std::string next = path({1, 1, 2}, "/b");
  files.put_segment(name, segment(name).marker(10, 9).transaction(11, 2, {}).marker(11, 10).continues(2), "/b");
  EXPECT_THAT(files.message(), AllOf(HasSubstr(next), HasSubstr("missing")));
  EXPECT_EQ(files.scan(/*salvage=*/true)->losses.at(0).path, next);
  files.put_segment({1, 1, 2}, segment({1, 1, 2}).marker(11, 10), "/b");
  EXPECT_EQ(files.durable(), 11u);
  EXPECT_EQ(files.scan()->ends.at(1).position, (log::Position{2, 64 + 40}));
}

/// It is written when the next one is on the device; power may fail meanwhile.
TEST(LogScan, TheNameOfTheNextSegmentMayBeTorn) {
  Directories files;
  files.manifest.generations[0].loggers = 1;
  const SegmentName first{1, 0, 0}, second{1, 0, 1};
  const SegmentBuilder whole = segment(first).marker(9, 9).transaction(10, 1, {{0, "a", "1"}}).marker(10, 9);
  const std::size_t bytes = whole.bytes().size();
  const std::string named = SegmentBuilder(whole).continues(1).bytes();
  files.put_segment(second, segment(second).marker(10, 9));
  for (std::size_t size = bytes; size <= named.size(); ++size) {
    files.disk.put(path(first), named.substr(0, size));
    EXPECT_EQ(files.durable(), 10u) << size;
  }
  for (std::size_t size = 64; size < bytes; ++size) {
    files.disk.put(path(first), named.substr(0, size));
    EXPECT_THAT(files.message(), HasSubstr(path(first))) << size;
  }
  // Once more stands in the second, the first was whole.
  files.disk.put(path(first), named.substr(0, named.size() - 1));
  files.put_segment(second, segment(second).marker(10, 9).transaction(11, 1, {}));
  EXPECT_THAT(files.message(), HasSubstr(path(first)));
}

/// Rotation was cut short: the next segment has a name, and nothing in it was durable. The rings count from there on.
TEST(LogScan, ASegmentThatWasOnlyBegunMayEndAGenerationThatIsOver) {
  TwoLoggers files;
  const std::string begun = path({1, 1, 2}, "/b");
  const std::uint64_t whole = files.disk.contents(path({1, 0, 0})).size();
  files.manifest.generations = {{1, 2, 10, 14, 11}};
  files.manifest.generations[0].segments = {{0, log::Position{0, whole}}, {0, log::Position{2, 0}}};
  for (const std::size_t bytes : {0u, 4096u}) {
    files.disk.put(begun, std::string(bytes, '\0'));
    EXPECT_EQ(files.durable(), 14u) << bytes;
  }
}

/// Of a generation that is over the manifest says where each log ends, even where markers tell less: its rings did.
TEST(LogScan, AGenerationThatIsOverEndsWhereTheManifestSays) {
  TwoLoggers files;
  const std::string last = path({1, 1, 1}, "/b");
  const std::uint64_t bytes[] = {files.disk.contents(path({1, 0, 0})).size(), files.disk.contents(last).size()};
  files.manifest.generations = {{1, 2, 10, 14, 11}};
  files.manifest.generations[0].segments = {{0, log::Position{0, bytes[0]}}, {0, log::Position{1, bytes[1]}}};
  EXPECT_EQ(files.durable(), 14u);
  const std::string whole = files.disk.contents(path({1, 0, 0}));
  for (const std::size_t left : {bytes[0] - 8, bytes[0] - 40, std::uint64_t{64}}) {
    files.disk.put(path({1, 0, 0}), whole.substr(0, left));
    EXPECT_THAT(files.message(), HasSubstr(path({1, 0, 0}))) << left;
  }
  const std::size_t entry = segment({1, 0, 0}).transaction(13, 1, {{0, "a", "4"}}).bytes().size() - 64;
  files.disk.put(path({1, 0, 0}), whole.substr(0, bytes[0] - entry));
  EXPECT_THAT(files.message(), HasSubstr(fmt::format("expected {} bytes", bytes[0]))) << "it ends between two entries";
  files.disk.put(path({1, 0, 0}), whole);
  files.disk.edit(path({1, 0, 0}), [](std::string& all) { all[all.size() - 5] ^= 1; });
  EXPECT_THAT(files.message(), HasSubstr("checksum"));
  files.disk.put(path({1, 0, 0}), whole);
  ASSERT_TRUE(files.disk.remove(last).ok());
  EXPECT_THAT(files.message(), AllOf(HasSubstr(last), HasSubstr("missing")));
  // What was void when it was cut is nobody's loss; but the file was there, and whoever lost it may have lost more.
  files.manifest.generations[0].cut = files.manifest.generations[0].durable = 10;
  EXPECT_THAT(files.message(), AllOf(HasSubstr(last), HasSubstr("missing"), HasSubstr("nothing that counts is lost")));
  const auto salvaged = files.scan(/*salvage=*/true);
  ASSERT_TRUE(salvaged.ok());
  EXPECT_EQ(salvaged->durable, 10u);
  EXPECT_EQ(salvaged->losses.size(), 1u);
}

TEST(LogScan, TheCheckpointIsDurable) {
  TwoLoggers files;
  files.manifest.checkpoint = {15, "c"};
  EXPECT_EQ(files.durable(), 14u);
}

TEST(LogScan, GenerationsEndAtTheirCut) {
  TwoLoggers files;
  files.manifest.generations = {{1, 2, 10, 10, 10}, {2, 1, 20, std::nullopt, 0}};
  files.put_segment({2, 0, 0}, segment({2, 0, 0}).marker(19, 19).transaction(20, 1, {}).marker(20, 19));
  const auto scanned = files.scan();
  ASSERT_TRUE(scanned.ok()) << scanned.status().message();
  EXPECT_EQ(scanned->durable, 20u);
  for (const LogSegment& found : scanned->segments) EXPECT_EQ(found.limit, found.name.generation == 1 ? 10u : 20u);
  // What is void may be damaged; what counts may not.
  const std::string whole = files.disk.contents(path({1, 0, 0}));
  files.disk.edit(path({1, 0, 0}), [](std::string& bytes) { bytes.back() ^= 1, bytes[bytes.size() - 41] ^= 1; });
  EXPECT_EQ(files.durable(), 20u);
  files.disk.put(path({1, 0, 0}), whole.substr(0, 64 + 32 + 20));
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 0, 0})), HasSubstr("epoch 10 was durable")));
  // The checkpoint covers it.
  files.manifest.checkpoint = {11, "c"};
  const auto covered = files.scan();
  ASSERT_TRUE(covered.ok());
  EXPECT_EQ(covered->superseded.size(), 3u);
  EXPECT_EQ(covered->segments.size(), 1u);
}

/// Rings told more than the markers: the cut is beyond them, and says so.
TEST(LogScan, ACutBeyondTheMarkers) {
  TwoLoggers files;
  files.manifest.generations = {{1, 2, 10, 14, 11}};
  EXPECT_EQ(files.durable(), 14u);
  files.disk.edit(path({1, 0, 0}), [](std::string& bytes) { bytes.resize(bytes.size() - 3); });
  EXPECT_EQ(files.durable(), 14u);
  files.manifest.generations[0].durable = 12;
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 1, 1}, "/b")), HasSubstr("epoch 12 was durable")));
}

TEST(LogScan, ForeignFiles) {
  TwoLoggers files;
  files.disk.put("/a/notes.txt", "x");
  EXPECT_EQ(files.durable(), 11u);
  files.disk.put(path({1, 0, 0}, "/b"), files.disk.contents(path({1, 0, 0})));
  EXPECT_THAT(files.message(), AllOf(HasSubstr("'/a/"), HasSubstr("'/b/"), HasSubstr("same log segment")));
  ASSERT_TRUE(files.disk.remove(path({1, 0, 0}, "/b")).ok());
  files.disk.put(path({1, 2, 0}), "");
  EXPECT_THAT(files.message(), HasSubstr("had 2 loggers"));
  ASSERT_TRUE(files.disk.remove(path({1, 2, 0})).ok());
  files.disk.put(path({0, 0, 0}), "");
  EXPECT_EQ(files.scan()->superseded, std::vector<std::string>{path({0, 0, 0})});
  // Two logs swapped.
  const std::string one = files.disk.contents(path({1, 0, 0}));
  files.disk.put(path({1, 0, 0}), files.disk.contents(path({1, 1, 0}, "/b")));
  EXPECT_THAT(files.message(), AllOf(HasSubstr(path({1, 0, 0})), HasSubstr("logger 1, expected 0")));
  files.disk.put(path({1, 0, 0}), one);
  files.manifest.database[0] ^= 1;
  EXPECT_THAT(files.message(), HasSubstr("database"));
}

TEST(LogScan, ReadErrorsAreNoDamage) {
  TwoLoggers files;
  files.disk.plan({.call = tests::FileCall::kRead, .nth = 1});
  EXPECT_EQ(files.scan().status().code(), StatusCode::kIoError);
  files.disk.clear_plan();
  files.manifest.log_directories.push_back("/c");
  EXPECT_FALSE(files.scan().ok());
}

}  // namespace
}  // namespace granary::recovery
