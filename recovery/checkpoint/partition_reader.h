#pragma once
// Reads one partition file. It hands out the blocks in order, each checked as a whole, to any thread, and accepts the
// end only at the trailer. It is safe on any bytes: what does not fit is kDamaged, with file and offset.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "recovery/checkpoint/format.h"
#include "src/base/file.h"

namespace granary::recovery::checkpoint {

/// A block as it was read. Its memory is used again for the next one.
struct Block {
  BlockHeader header;
  std::uint64_t offset = 0;  ///< where the header stands in the file
  std::vector<char> body;    ///< may be longer than header.bytes
};

struct RecordView {
  std::uint64_t tid = 0;
  std::string_view key, value;
};

class PartitionReader {
 public:
  /// Opens the file and checks what the header says of itself. The caller compares it with the headers of other files.
  static Result<std::unique_ptr<PartitionReader>> open(base::FileSystem& files, std::string path);

  const FileHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  std::uint64_t file_bytes() const { return offset_; }

  /// Reads the next block of records. Returns false at the end. After an error every call fails. Thread-safe.
  Result<bool> next(Block* block);

  /// Returns kDamaged for a fault in this file at this offset.
  Status damaged(std::uint64_t offset, std::string_view what) const;

 private:
  PartitionReader(std::unique_ptr<base::File> file, std::string path)
      : file_(std::move(file)),
        path_(std::move(path)) {}
  Status read_header();
  Result<bool> read_block(Block* block);
  Status check_header(const BlockHeader& header) const;
  Status check_end(const Trailer& trailer);
  Status check_padding(std::uint64_t from);
  /// Fills all of `bytes` from the given offset.
  Status read(std::uint64_t offset, std::span<char> bytes, std::string_view what);

  const std::unique_ptr<base::File> file_;
  const std::string path_;
  FileHeader header_;

  std::mutex mutex_;  // guards what follows
  Status failed_;
  bool ended_ = false;
  std::uint64_t offset_ = 0;
  std::uint32_t blocks_ = 0;
  std::uint64_t records_ = 0;
};

/// Walks the records of a block, of which only the checksum is known to be right.
class RecordReader {
 public:
  RecordReader(const PartitionReader& file, const Block& block)
      : file_(file),
        block_(block),
        rest_(block.body.data(), block.header.bytes) {}

  /// Reads the next record. Returns false at the end, or where something is wrong, which status() then tells.
  bool next(RecordView* record);
  const Status& status() const { return status_; }
  /// Returns the offset of the record that next() read last.
  std::uint64_t offset() const { return at_; }

 private:
  bool wrong(std::string_view what);

  const PartitionReader& file_;
  const Block& block_;
  std::string_view rest_;
  std::uint64_t at_ = 0;
  std::uint32_t records_ = 0;
  Status status_;
};

}  // namespace granary::recovery::checkpoint
