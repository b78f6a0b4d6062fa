// Covers files that are not what was written: cut off at every byte, every bit flipped, mixed up, and blocks that are
// nonsense under a right checksum. Each must be refused with a message that names the file; none may crash.

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/checkpoint/partition_reader.h"
#include "src/base/crc32c.h"
#include "tests/recovery/checkpoint/checkpoint_fixture.h"
#include "tests/recovery/checkpoint/memory_files.h"
#include "tests/support/scale.h"

namespace granary::tests {
namespace {

using checkpoint::BlockHeader;
using checkpoint::FileHeader;
using checkpoint::RecordHeader;

class Damage : public testing::Test {
 protected:
  static constexpr std::uint32_t kPartitions = 2;

  void SetUp() override {
    for (int i = 0; i < 8; ++i) database_.put(table_, "key " + std::to_string(i), std::string(i * 5, 'v'));
    database_.put(second_, "a", "b");
    database_.pass_snapshot_period();
    write("c", 77);
  }

  void write(const std::string& directory, std::uint64_t stamp) {
    auto options = write_options(directory, kPartitions);
    options.files = &files_;
    options.stamp = stamp;
    const auto written = take_checkpoint(*database_, options, {table_.core(), second_.core()});
    ASSERT_TRUE(written.ok()) << written.status().message();
    contents_ = *written;
  }

  checkpoint::ReadOptions options() {
    auto options = read_options("c");
    options.files = &files_;
    return options;
  }
  static std::string path(std::uint32_t partition) { return "c/" + checkpoint::partition_name(partition); }

  /// Neither verified nor loaded; the message names what it should.
  void expect_refused(const std::string& part_of_message) {
    for (const bool loading : {false, true}) {
      const auto read = loading ? load(*other_, options(), {others_.core(), seconds_.core()}, 2)
                                : checkpoint::verify_checkpoint(options());
      ASSERT_FALSE(read.ok());
      ASSERT_EQ(read.status().code(), StatusCode::kDamaged) << read.status().message();
      ASSERT_THAT(read.status().message(), testing::HasSubstr(part_of_message));
    }
  }

  MemoryFiles files_;
  ManualDatabase database_;
  Table table_ = database_.table("t");
  Table second_ = database_.table("u");
  checkpoint::Contents contents_;
  ManualDatabase other_;
  Table others_ = other_.table("t");
  Table seconds_ = other_.table("u");
};

TEST_F(Damage, CutOffAnywhere) {
  for (std::uint32_t partition = 0; partition < kPartitions; ++partition) {
    const std::string whole = files_.bytes(path(partition));
    ASSERT_GT(whole.size(), 100U);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      SCOPED_TRACE(testing::Message() << path(partition) << " cut to " << bytes);
      files_.bytes(path(partition)) = whole.substr(0, bytes);
      ASSERT_NO_FATAL_FAILURE(expect_refused(path(partition)));
    }
    files_.bytes(path(partition)) = whole;
  }
  EXPECT_TRUE(checkpoint::verify_checkpoint(options()).ok());
}

TEST_F(Damage, AnyBitFlipped) {
  for (std::uint32_t partition = 0; partition < kPartitions; ++partition) {
    std::string& bytes = files_.bytes(path(partition));
    const std::size_t zeros_from = (bytes.find_last_not_of('\0') + 1) * 8;
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += bit < zeros_from ? 1 : 9) {
      SCOPED_TRACE(testing::Message() << path(partition) << " bit " << bit);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      ASSERT_NO_FATAL_FAILURE(expect_refused(path(partition)));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
  }
  EXPECT_TRUE(checkpoint::verify_checkpoint(options()).ok());
}

TEST_F(Damage, MoreThanWasWritten) {
  const std::string whole = files_.bytes(path(1));
  files_.bytes(path(1)) += '\0';
  expect_refused("the file has 4097 bytes, expected 4096");
  files_.bytes(path(1)) = whole + whole.substr(sizeof(FileHeader));
  expect_refused("expected 4096: its trailer and zeros");
}

TEST_F(Damage, OtherThanZerosBehindTheTrailer) {
  ASSERT_EQ(files_.bytes(path(1)).size(), checkpoint::kFileUnit);
  files_.bytes(path(1)).back() = 'x';
  expect_refused("offset 4095: byte 0x78 behind the trailer, expected zeros");
}

TEST_F(Damage, ZerosInsteadOfTheTail) {
  std::string& bytes = files_.bytes(path(1));
  for (std::size_t from = bytes.size(); from-- > 0;) {
    if (bytes[from] == '\0') continue;
    bytes[from] = '\0';
    ASSERT_NO_FATAL_FAILURE(expect_refused(path(1)));
  }
}

TEST_F(Damage, MissingExtraAndForeignFiles) {
  const std::string whole = files_.bytes(path(1));
  ASSERT_TRUE(files_.remove(path(1)).ok());
  expect_refused("'part-0001.gckpt' is missing, of 2 partitions");
  files_.put(path(1), files_.bytes(path(0)));
  expect_refused("partition 0, expected 1");
  files_.put(path(1), whole);
  files_.put(path(2), whole);
  expect_refused("unexpected file 'part-0002.gckpt'");
  ASSERT_TRUE(files_.remove(path(2)).ok());
  files_.put("c/notes.txt", "mine");
  expect_refused("unexpected file 'notes.txt'");
  ASSERT_TRUE(files_.remove("c/notes.txt").ok());
  ASSERT_TRUE(files_.remove(path(0)).ok());
  expect_refused("no 'part-0000.gckpt'");
}

TEST_F(Damage, FilesOfAnotherCheckpointAtTheSameEpoch) {
  write("d", 78);
  files_.put(path(1), files_.bytes("d/part-0001.gckpt"));
  expect_refused("of another life of this database (stamp 000000000000004e), expected stamp 000000000000004d");
}

TEST_F(Damage, ACheckpointAtTheSameEpochThatTheManifestDoesNotName) {
  checkpoint::ReadOptions wanted = options();
  wanted.stamp = 77;
  EXPECT_TRUE(verify_checkpoint(wanted).ok());
  wanted.stamp = 78;
  const Status refused = verify_checkpoint(wanted).status();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_THAT(refused.message(), testing::HasSubstr("of another life of this database (stamp 000000000000004d)"));
}

TEST_F(Damage, ABlockOfAnotherFile) {
  // The same place in another checkpoint at the same epoch: all but the seed of the checksum fits.
  write("d", 78);
  for (std::uint32_t partition = 0; partition < kPartitions; ++partition) {
    SCOPED_TRACE(partition);
    const std::string whole = files_.bytes(path(partition));
    std::string& bytes = files_.bytes(path(partition));
    const std::string other = files_.bytes("d/" + checkpoint::partition_name(partition));
    ASSERT_EQ(other.size(), bytes.size());
    bytes.replace(sizeof(FileHeader), std::string::npos, other.substr(sizeof(FileHeader)));
    expect_refused("the checksum of block 0");
    bytes = whole;
  }
}

TEST_F(Damage, BlocksOutOfTheirOrder) {
  auto one_file = write_options("d");
  one_file.files = &files_;
  ASSERT_TRUE(take_checkpoint(*database_, one_file, {table_.core(), second_.core()}).ok());
  ASSERT_TRUE(files_.remove(path(1)).ok());
  const std::string whole = files_.bytes("d/part-0000.gckpt");
  BlockHeader first;
  std::memcpy(&first, whole.data() + sizeof(FileHeader), sizeof first);
  BlockHeader second;
  const std::size_t second_at = sizeof(FileHeader) + sizeof first + first.bytes;
  std::memcpy(&second, whole.data() + second_at, sizeof second);
  const std::size_t end = second_at + sizeof second + second.bytes;
  const std::string one = whole.substr(sizeof(FileHeader), second_at - sizeof(FileHeader));
  const std::string two = whole.substr(second_at, end - second_at);
  const std::string header = whole.substr(0, sizeof(FileHeader));
  files_.put(path(0), header + one + two + whole.substr(end));
  ASSERT_TRUE(checkpoint::verify_checkpoint(options()).ok());
  files_.put(path(0), header + two + one + whole.substr(end));
  expect_refused("offset 64: block 1 where block 0 should be");
  files_.put(path(0), header + one + one + whole.substr(end));
  expect_refused("block 0 where block 1 should be");
  files_.put(path(0), header + one + whole.substr(end));
  expect_refused("block 2 where block 1 should be");
}

TEST_F(Damage, TheManyPartitionsThatAHeaderPromisesAreCounted) {
  FileHeader header;
  std::memcpy(&header, files_.bytes(path(0)).data(), sizeof header);
  header.partitions = checkpoint::kMaxPartitions + 1;
  header.seal();
  std::memcpy(files_.bytes(path(0)).data(), &header, sizeof header);
  expect_refused("partition 0 of 1025");
}

TEST_F(Damage, AnotherVersionIsRefusedByItsNumber) {
  FileHeader header;
  std::memcpy(&header, files_.bytes(path(0)).data(), sizeof header);
  header.version = checkpoint::kFormatVersion - 1;
  header.seal();
  std::memcpy(files_.bytes(path(0)).data(), &header, sizeof header);
  expect_refused("checkpoint format version 1, expected 2");
}

TEST_F(Damage, AnotherDatabaseOrEpochThanExpected) {
  auto wanted = options();
  wanted.database = log::DatabaseId{9};
  const auto foreign = checkpoint::verify_checkpoint(wanted);
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.status().message(),
              testing::HasSubstr("database 0102030405060708090a0b0c0d0e0f10, expected 0900"));
  wanted = options();
  wanted.epoch = contents_.epoch + 1;
  const auto old = checkpoint::verify_checkpoint(wanted);
  ASSERT_FALSE(old.ok());
  EXPECT_THAT(old.status().message(), testing::HasSubstr("epoch " + std::to_string(contents_.epoch)));
}

TEST_F(Damage, AnUnknownTableIsNamed) {
  const auto loaded = load(*other_, options(), {others_.core()});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), StatusCode::kDamaged);
  EXPECT_THAT(loaded.status().message(), testing::HasSubstr("records of table 1, which the database does not have"));
}

TEST_F(Damage, AValueTooLargeForItsTable) {
  ManualDatabase narrow;
  const Table table = narrow.table("t", {.max_value_bytes = 10});
  const Table second = narrow.table("u");
  const auto loaded = load(*narrow, options(), {table.core(), second.core()});
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.status().message(), testing::HasSubstr("table 't' has a value of"));
}

/// One partition with one block whose checksum is right, whatever it holds.
std::string sealed_file(std::uint32_t records, const std::string& body, std::uint32_t trailer_records) {
  const auto text = [](const auto& value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  FileHeader file;
  file.database = kDatabase;
  file.epoch = 8;
  file.stamp = 77;
  file.seal();
  BlockHeader block;
  block.records = records;
  block.bytes = static_cast<std::uint32_t>(body.size());
  block.crc = checkpoint::block_crc(file.crc, block, body.data());
  const checkpoint::Trailer trailer{trailer_records, 1};
  BlockHeader end;
  end.kind = checkpoint::BlockKind::kTrailer;
  end.bytes = sizeof trailer;
  end.sequence = 1;
  end.crc = checkpoint::block_crc(file.crc, end, reinterpret_cast<const char*>(&trailer));
  std::string bytes = text(file) + text(block) + body + text(end) + text(trailer);
  bytes.resize(checkpoint::padded(bytes.size()));
  return bytes;
}

std::string record_text(std::uint64_t tid, std::uint32_t key_bytes, std::uint32_t value_bytes,
                        const std::string& rest) {
  const RecordHeader header{tid, key_bytes, value_bytes};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + rest;
}

TEST_F(Damage, NonsenseUnderARightChecksum) {
  const std::uint64_t tid = record::make_tid(3, 1);
  ASSERT_TRUE(files_.remove(path(1)).ok());
  files_.put(path(0), sealed_file(1, record_text(tid, 1, 2, "kvv"), 1));
  ASSERT_TRUE(checkpoint::verify_checkpoint(options()).ok());
  const auto refuse = [&](std::uint32_t records, const std::string& body, const std::string& message,
                          std::uint32_t trailer_records = 1) {
    SCOPED_TRACE(message);
    files_.put(path(0), sealed_file(records, body, trailer_records));
    expect_refused(message);
  };
  refuse(1, record_text(tid, 1, 2, "kv"), "but the block has 2 left");
  refuse(1, record_text(tid, 1, 2, "kvv") + "x", "ends within a record's header");
  refuse(2, record_text(tid, 1, 2, "kvv"), "holds 1 records, its header says 2", 2);
  refuse(1, record_text(tid, 1, 2, "kvv"), "trailer counts 2 records", 2);
  refuse(1, record_text(tid, 70'000, 2, "kvv"), "a key of 70000");
  refuse(1, record_text(tid, 1, ~0U, "kvv"), "a value of 4294967295");
  refuse(1, record_text(0, 1, 2, "kvv"), "TID 0x0 of epoch 0");
  refuse(1, record_text(tid | record::kAbsent, 1, 2, "kvv"), "without status bits");
  refuse(1, record_text(record::make_tid(8, 1), 1, 2, "kvv"), "of epoch 8, expected one of an epoch before 8");
}

TEST_F(Damage, RandomBytesBehindARightHeader) {
  ASSERT_TRUE(files_.remove(path(1)).ok());
  std::mt19937_64 random(7);
  for (std::uint64_t i = 0; i < scaled(3000); ++i) {
    std::string body(random() % 200, '\0');
    for (char& byte : body) byte = static_cast<char>(random() % 3 == 0 ? random() : 0);
    files_.put(path(0), sealed_file(1, body, 1));
    ASSERT_NO_FATAL_FAILURE(expect_refused(path(0))) << i;
    files_.put(path(0), files_.bytes(path(0)).substr(0, sizeof(FileHeader)) + body);
    ASSERT_NO_FATAL_FAILURE(expect_refused(path(0))) << i;
  }
}

}  // namespace
}  // namespace granary::tests
