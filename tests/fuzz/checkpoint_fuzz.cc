// Checkpoint files: whatever the bytes, verifying ends with counts or with a message that names the file. The first
// byte chooses whether checksums are put right first, so that inputs get past them.

#include <cstring>

#include "recovery/checkpoint/reader.h"
#include "src/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/fault_files.h"

namespace granary {
namespace {

namespace checkpoint = recovery::checkpoint;
using checkpoint::BlockHeader;
using checkpoint::BlockKind;
using checkpoint::FileHeader;

void mend_checksums(std::string& file) {
  if (file.size() < sizeof(FileHeader)) return;
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.seal();
  std::memcpy(file.data(), &header, sizeof header);
  for (std::size_t at = sizeof header; at + sizeof(BlockHeader) <= file.size();) {
    BlockHeader block;
    std::memcpy(&block, file.data() + at, sizeof block);
    if (block.bytes > file.size() - at - sizeof block) return;
    block.crc = checkpoint::block_crc(header.crc, block, file.data() + at + sizeof block);
    std::memcpy(file.data() + at, &block, sizeof block);
    at += sizeof block + block.bytes;
  }
}

void add_block(std::string& file, BlockHeader block, const std::string& body) {
  block.bytes = static_cast<std::uint32_t>(body.size());
  file.append(reinterpret_cast<const char*>(&block), sizeof block).append(body);
}

std::string record_bytes(const std::string& key, const std::string& value) {
  const checkpoint::RecordHeader header{std::uint64_t{5} << 24, static_cast<std::uint32_t>(key.size()),
                                        static_cast<std::uint32_t>(value.size())};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + key + value;
}

}  // namespace

std::vector<std::string> fuzz::seeds() {
  FileHeader header;
  header.epoch = 25;
  header.stamp = 1;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  add_block(file, {.kind = BlockKind::kRecords, .table = 0, .records = 2, .sequence = 0},
            record_bytes("a", "1") + record_bytes("", std::string(50, 'v')));
  add_block(file, {.kind = BlockKind::kRecords, .table = 3, .records = 1, .sequence = 1}, record_bytes("b", ""));
  const checkpoint::Trailer trailer{3, 2};
  add_block(file, {.kind = BlockKind::kTrailer, .sequence = 2},
            std::string(reinterpret_cast<const char*>(&trailer), sizeof trailer));
  mend_checksums(file);
  return {std::string(1, '\0') + file, std::string(1, '\1') + file};
}

}  // namespace granary

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace granary;
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data + 1), size - 1);
  if ((data[0] & 1) != 0) mend_checksums(file);
  tests::FaultFiles files;
  files.put("c/" + checkpoint::partition_name(0), std::move(file));
  const auto verified =
      checkpoint::verify_checkpoint({.files = &files, .directory = "c", .database = {}, .epoch = {}, .progress = {}});
  base::always_check(verified.ok() || verified.status().message().find("c/") != std::string::npos ||
                         verified.status().message().find("'c'") != std::string::npos,
                     "a refusal names the file");
  return 0;
}
