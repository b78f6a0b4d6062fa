// Checkpoint files: whatever the bytes, verifying ends with counts or with a message that names the file. Bit 0 of the
// first byte: checksums are put right first.

#include <cstring>
#include <string>

#include "recovery/checkpoint/reader.h"
#include "src/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/fault_files.h"

namespace granary {
namespace {

namespace checkpoint = recovery::checkpoint;
using checkpoint::BlockHeader;
using checkpoint::FileHeader;

/// As far as lengths lead from one block to the next.
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
    if (block.kind == checkpoint::BlockKind::kTrailer) return;  // zeros follow, up to the end of the page
    at += sizeof block + block.bytes;
  }
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::string file(input.substr(1));
  if ((input[0] & 1) != 0) mend_checksums(file);
  file.resize(checkpoint::padded(file.size()));
  tests::FaultFiles files;
  files.put("c/" + checkpoint::partition_name(0), std::move(file));
  const auto verified =
      checkpoint::verify_checkpoint({.files = &files, .directory = "c", .database = {}, .epoch = {}, .progress = {}});
  base::always_check(verified.ok() || verified.status().message().find("c/") != std::string::npos ||
                         verified.status().message().find("'c'") != std::string::npos,
                     "a refusal names the file");
  return verified.ok();
}

}  // namespace granary
