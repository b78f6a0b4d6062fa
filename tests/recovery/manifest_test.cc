// The manifest: what is written is what is read; nothing else is.
// Not here: power loss while it is replaced (tests/support/fault_files.h has the means).

#include "recovery/manifest.h"

#include <gmock/gmock.h>
#include <granary/limits.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recovery/manifest_text.h"
#include "src/base/crc32c.h"
#include "tests/support/allocations.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

using testing::HasSubstr;

Manifest example() {
  Manifest manifest;
  manifest.database = {0, 1, 2, 3, 0xff, 0xfe};
  manifest.instance = {9, 8, 7};
  manifest.residence = {"/d b", {.device = 5, .inode = ~std::uint64_t{0}, .born_ns = 1}};
  manifest.log_directories = {"/a/log", "/b/50% \xc3\xa4\xff\n"};
  manifest.reliable_directory = "/dev/shm/x";
  manifest.boot = "0-1-2";
  manifest.generations = {{1, 2, 1, 17, 17}, {2, 1, 20, 40, 33}, {7, 3, 100, std::nullopt, 0}};
  const IndexOptions index{.parts = {{IndexPart::Source::kKey, 0, 4, IndexEncoding::kUnsigned},
                                     {IndexPart::Source::kValue, 8, 16, IndexEncoding::kText},
                                     {IndexPart::Source::kValue, 24, 8, IndexEncoding::kSigned},
                                     {IndexPart::Source::kValue, 32, 3, IndexEncoding::kBytes}},
                           .unique = true};
  manifest.tables = {{0, "accounts", 100, std::nullopt, {}}, {1, std::string("by\0name", 7), 65536, 0, index}};
  for (Generation& generation : manifest.generations) generation.stamp = generation.number;
  manifest.checkpoint = {90, "checkpoint-90", 91};
  return manifest;
}

/// With a hash table.
Manifest example_with_hash() {
  Manifest manifest = example();
  manifest.tables.push_back({.id = 2, .name = "hashed", .max_value_bytes = 8, .base = {}, .hash_keys = 1000});
  return manifest;
}

/// A file with a right checksum around whatever JSON.
std::string sealed(std::string json) {
  json += "\n";
  char line[32];
  std::snprintf(line, sizeof line, "crc32c %08x\n", base::crc32c(0, json.data(), json.size()));
  return json + line;
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

TEST(Manifest, ReadsWhatWasWritten) {
  tests::FaultFiles files;
  ASSERT_TRUE(files.make_directory("/db").ok());
  EXPECT_EQ(read_manifest(files, "/db").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(write_manifest(files, "/db", Manifest{}).ok());
  ASSERT_TRUE(write_manifest(files, "/db", example()).ok());
  const auto read = read_manifest(files, "/db");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(manifest_text(*read), manifest_text(example()));
  EXPECT_EQ(read->log_directories, example().log_directories);
  EXPECT_EQ(read->tables[1].name, example().tables[1].name);
  EXPECT_EQ(read->tables[1].base, 0u);
  EXPECT_EQ(read->tables[1].index.parts[1].encoding, IndexEncoding::kText);
  EXPECT_TRUE(read->tables[1].index.unique);
  EXPECT_EQ(read->generations[1].cut, 40u);
  EXPECT_EQ(read->generations[1].durable, 33u);
  EXPECT_FALSE(read->generations[2].cut);
  EXPECT_EQ(read->generations[2].stamp, 7u);
  EXPECT_EQ(read->checkpoint->directory, "checkpoint-90");
  EXPECT_EQ(read->checkpoint->stamp, 91u);
  EXPECT_EQ(read->database, example().database);
  EXPECT_EQ(read->instance, example().instance);
  EXPECT_EQ(read->residence->directory, "/d b");
  EXPECT_EQ(read->residence->identity, example().residence->identity);
}

/// No opening would accept it, so the one that is there stays.
TEST(Manifest, IsNotWrittenIfATablesIdIsNotItsPosition) {
  tests::FaultFiles files;
  ASSERT_TRUE(files.make_directory("/db").ok());
  ASSERT_TRUE(write_manifest(files, "/db", example()).ok());
  Manifest manifest = example();
  ++manifest.tables.back().id;
  const Status refused = write_manifest(files, "/db", manifest);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("tables[1].id is 2; expected 1"));
  EXPECT_EQ(manifest_text(*read_manifest(files, "/db")), manifest_text(example()));
}

/// So that they move and are copied with it.
TEST(Manifest, NamesWhatIsInsideItsDirectoryRelativeToIt) {
  tests::FaultFiles files;
  ASSERT_TRUE(files.make_directory("/db").ok());
  Manifest manifest = example();
  manifest.log_directories = {"/db", "/db/log", "/dbx"};
  manifest.reliable_directory = "/db/rings/x";
  ASSERT_TRUE(write_manifest(files, "/db", manifest).ok());
  const std::string text = files.contents("/db/MANIFEST");
  for (const char* const written : {"\".\"", "\"log\"", "\"/dbx\"", "\"rings/x\""})
    EXPECT_THAT(text, HasSubstr(written));
  EXPECT_EQ(read_manifest(files, "/db")->log_directories, manifest.log_directories);
  files.put("/moved/MANIFEST", text);
  const auto moved = read_manifest(files, "/moved");
  ASSERT_TRUE(moved.ok()) << moved.status().message();
  EXPECT_EQ(moved->log_directories, (std::vector<std::string>{"/moved", "/moved/log", "/dbx"}));
  EXPECT_EQ(moved->reliable_directory, "/moved/rings/x");
}

TEST(Manifest, KeepsHashTables) {
  const std::string text = manifest_text(example_with_hash());
  EXPECT_THAT(text, HasSubstr("\"format\": 4"));
  const auto read = parse_manifest(text, "M");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->tables[2].kind(), IndexKind::kHash);
  EXPECT_EQ(read->tables[2].hash_keys, 1000u);
  EXPECT_EQ(read->tables[0].kind(), IndexKind::kOrdered);
  EXPECT_EQ(manifest_text(*read), text);
}

TEST(Manifest, KeepsWhichTablesAreShared) {
  Manifest manifest = example();
  manifest.tables.push_back({.id = 2, .name = "shared", .max_value_bytes = 8, .base = {}, .shared = true});
  const std::string text = manifest_text(manifest);
  EXPECT_THAT(text, HasSubstr("\"format\": 4"));
  const auto read = parse_manifest(text, "M");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->tables[2].shared);
  EXPECT_FALSE(read->tables[0].shared);
  EXPECT_EQ(manifest_text(*read), text);
  manifest.tables[2].max_value_bytes = kMaxSharedValueBytes + 1;
  EXPECT_THAT(parse_manifest(manifest_text(manifest), "M").status().message(),
              HasSubstr("tables[2] describes no shared table"));
}

TEST(Manifest, KeepsWhichTablesAreSealed) {
  Manifest manifest = example();
  manifest.tables.push_back(
      {.id = 2, .name = "rows", .max_value_bytes = 8, .base = {}, .immutable = true, .sealed = true});
  const std::string text = manifest_text(manifest);
  const auto read = parse_manifest(text, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->tables[2].immutable && read->tables[2].sealed);
  EXPECT_FALSE(read->tables[0].immutable || read->tables[0].sealed);
}

/// Byte for byte: other programs may read it.
TEST(Manifest, WritesItsFormat) {
  const std::string text = R"({
 "format": 4,
 "database": "01000000000000000000000000000000",
 "instance": "02000000000000000000000000000000",
 "log_directories": [
  "/db"
 ],
 "reliable_directory": "/dev/shm/x",
 "boot": "b",
 "generations": [
  {
   "number": 1,
   "stamp": "00000000000000ab",
   "loggers": 2,
   "first_epoch": 1
  }
 ],
 "tables": [
  {
   "id": 0,
   "name": "accounts",
   "max_value_bytes": 100
  }
 ]
}
crc32c 83e5f745
)";
  const auto read = parse_manifest(text, "M");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->tables.at(0).kind(), IndexKind::kOrdered);
  EXPECT_EQ(manifest_text(*read), text);
}

/// Every field, empty lists, and characters that JSON escapes: another writer of JSON makes the same text of it.
TEST(Manifest, IsIndentedJson) {
  Manifest manifest = example_with_hash();
  manifest.log_directories.emplace_back("/quoted \"\\\"");
  Generation& all = manifest.generations.back();
  all.cut = 120;
  all.released = 110;
  all.agreed = all.end = all.begins_empty = true;
  all.life = 3;
  all.admitted = 105;
  all.protocol = "tictoc";
  all.segments = {{.first = 2, .end = log::Position{4, 4096}}, {.first = 1}};
  TableEntry& table = manifest.tables.back();
  table.shared = table.immutable = table.sealed = true;
  for (const Manifest& each : {manifest, Manifest{}}) {
    const std::string text = manifest_text(each);
    const std::string body = text.substr(0, text.rfind("\ncrc32c"));
    EXPECT_EQ(nlohmann::ordered_json::parse(body).dump(1), body);
  }
}

/// The process goes on, and whoever writes the manifest can give up.
TEST(Manifest, ALackOfMemoryForItsTextIsAnException) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const Manifest manifest = example_with_hash();
  const std::string whole = manifest_text(manifest);
  std::uint64_t fails = 0;
  for (bool thrown = true; thrown;) {
    tests::failing_allocation = tests::allocations + ++fails;
    thrown = false;
    std::string text;
    try {
      text = manifest_text(manifest);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    tests::failing_allocation = 0;
    EXPECT_EQ(text, thrown ? "" : whole) << "allocation " << fails;
  }
  EXPECT_GT(fails, 5u);
}

TEST(Manifest, EveryTruncationIsDamage) {
  const std::string text = manifest_text(example_with_hash());
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    const auto parsed = parse_manifest(std::string_view(text).substr(0, bytes), "M");
    ASSERT_FALSE(parsed.ok()) << bytes;
    EXPECT_EQ(parsed.status().code(), StatusCode::kDamaged);
    EXPECT_THAT(parsed.status().message(), HasSubstr("'M'"));
  }
}

TEST(Manifest, EveryFlippedBitIsDamage) {
  const std::string text = manifest_text(example_with_hash());
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto parsed = parse_manifest(flipped, "M");
    ASSERT_FALSE(parsed.ok()) << bit;
    EXPECT_EQ(parsed.status().code(), StatusCode::kDamaged);
  }
}

/// Behind a right checksum nothing is believed either: no crash, and never a manifest that says something else.
TEST(Manifest, NonsenseWithARightChecksumIsDamage) {
  const std::string text = manifest_text(example_with_hash());
  const std::string json = text.substr(0, text.rfind("\ncrc32c"));
  ASSERT_TRUE(parse_manifest(sealed(json), "M").ok());
  for (std::size_t i = 0; i < json.size(); ++i) {
    for (const char c : {'\0', '"', '{', '}', ']', '-', 'e', '.', '9', '\xff', '%'}) {
      std::string changed = json;
      changed[i] = c;
      const auto parsed = parse_manifest(sealed(changed), "M");
      if (!parsed.ok()) continue;
      EXPECT_TRUE(parse_manifest(manifest_text(*parsed), "M").ok()) << i << c;
    }
    EXPECT_FALSE(parse_manifest(sealed(json.substr(0, i)), "M").ok()) << i;
  }
}

TEST(Manifest, SaysWhatIsWrong) {
  const std::string text = manifest_text(example_with_hash());
  const std::string json = text.substr(0, text.rfind("\ncrc32c"));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = json;
    replace(changed, from, to);
    return parse_manifest(sealed(changed), "M").status().message();
  };
  EXPECT_THAT(with("\"format\": 4", "\"format\": 3"), HasSubstr("format version 3, expected 4"));
  EXPECT_THAT(with("\"keys\": 1000", "\"keys\": 0"), HasSubstr("tables[2].hash.keys is 0; expected 1 to"));
  EXPECT_THAT(with("\"keys\": 1000", "\"kezs\": 1000"), HasSubstr("tables[2].hash.keys is missing"));
  EXPECT_THAT(with("\"base\": 0", "\"hash\": {\"keys\": 1}, \"base\": 0"), HasSubstr("tables[1] is an index of"));
  EXPECT_THAT(with("\"cut\": 40", "\"cut\": \"x\""),
              HasSubstr("generations[1].cut is a string; expected a whole number"));
  EXPECT_THAT(with("\"cut\": 40", "\"cut\": -1"), HasSubstr("generations[1].cut"));
  EXPECT_THAT(with("\"loggers\": 2", "\"loggers\": 0"), HasSubstr("generations[0].loggers is 0; expected 1 to"));
  EXPECT_THAT(with("0000000000000007", "0000000000000000"),
              HasSubstr("generations[2].stamp is \"0000000000000000\"; exp"));
  EXPECT_THAT(with("000000000000005b", "5b"), HasSubstr("checkpoint.stamp is \"5b\"; expected 16 hexadecimal digits"));
  EXPECT_THAT(with("\"boot\"", "\"root\""), HasSubstr("boot is missing"));
  EXPECT_THAT(with("\"boot\"", "\"more\": 1, \"boot\""), HasSubstr("it has"));
  EXPECT_THAT(with("\"text\"", "\"test\""), HasSubstr("encoding is \"test\""));
  EXPECT_THAT(with("\"id\": 1", "\"id\": 2"), HasSubstr("tables[1].id is 2; expected 1"));
  EXPECT_THAT(with("\"base\": 0", "\"base\": 1"), HasSubstr("index of table 1"));
  EXPECT_THAT(with("\"number\": 7", "\"number\": 2"), HasSubstr("generations[2].number"));
  EXPECT_THAT(with("0-1-2", "%zz"), HasSubstr("boot"));
  EXPECT_THAT(with("\"/a/log\"", "\"\""), HasSubstr("log_directories[0] is \"\"; expected an absolute path"));
  EXPECT_THAT(with("/dev/shm/x", "a/../../b"), HasSubstr("reliable_directory is \"a/../../b\"; expected"));
  EXPECT_THAT(with("\"inode\": 1", "\"inode\": -1"), HasSubstr("residence.inode"));
  EXPECT_THAT(parse_manifest(sealed("[1]"), "M").status().message(), HasSubstr("expected an object"));
  EXPECT_THAT(parse_manifest(sealed(std::string(100000, '[')), "M").status().message(), HasSubstr("no JSON"));
}

TEST(Manifest, Ids) {
  EXPECT_NE(new_id(), new_id());
  EXPECT_EQ(to_text(log::DatabaseId{0x01, 0xfe}), "01fe0000000000000000000000000000");
  const auto boot = boot_id();
  if (!boot.ok()) GTEST_SKIP() << boot.status().message();
  EXPECT_EQ(*boot, *boot_id());
  EXPECT_EQ(boot->find('\n'), std::string::npos);
}

}  // namespace
}  // namespace granary::recovery
