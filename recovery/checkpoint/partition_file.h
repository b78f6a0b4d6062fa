#pragma once
// Writes one partition file: each block as a whole, from any thread, and the trailer only after all blocks.
//
// The file bypasses the page cache. It is not read soon, and filling the cache takes processor time and memory that
// transactions can use.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "recovery/checkpoint/format.h"
#include "src/base/file.h"

namespace granary::recovery::checkpoint {

/// A block that one thread fills: room for the header, then the records.
class BlockBuffer {
 public:
  BlockBuffer() : bytes_(kFirstBytes) {}

  void begin(std::uint32_t table) {
    header_ = {};
    header_.table = table;
    used_ = sizeof(BlockHeader);
  }
  bool empty() const { return header_.records == 0; }
  bool full() const { return body_bytes() >= kBlockBytes; }
  const BlockHeader& header() const { return header_; }
  std::size_t body_bytes() const { return used_ - sizeof(BlockHeader); }

  /// Returns the place for the next record's value if the record has such a key: at least `value_room` bytes. Valid
  /// until the next call.
  std::span<char> value_place(std::size_t key_bytes, std::size_t value_room) {
    const std::size_t at = used_ + sizeof(RecordHeader) + key_bytes;
    if (at + value_room > bytes_.size()) bytes_.resize(at + value_room);
    return std::span<char>(bytes_).subspan(at);
  }
  /// Adds a record whose value stands in its place already.
  void add(std::uint64_t tid, std::string_view key, std::size_t value_bytes);

  /// Puts the header in its place and returns all bytes of the block.
  std::span<const char> seal(std::uint32_t file_crc, std::uint32_t sequence);

 private:
  static constexpr std::size_t kFirstBytes = sizeof(BlockHeader) + kBlockBytes + sizeof(RecordHeader) + 8 * 1024;

  std::vector<char> bytes_;
  std::size_t used_ = sizeof(BlockHeader);
  BlockHeader header_;
};

class PartitionFile {
 public:
  /// Creates the file and writes its header.
  static Result<std::unique_ptr<PartitionFile>> create(base::FileSystem& files, const std::string& directory,
                                                       FileHeader header, std::uint64_t sync_bytes);

  /// Appends the block. After an error every call fails. Thread-safe.
  Status append(BlockBuffer& block);
  /// Writes the trailer and syncs. Nothing may be appended after it.
  Status finish();
  std::uint64_t bytes() const { return bytes_; }
  /// Returns how many of the appended bytes may still ask the file system for room. Thread-safe.
  std::uint64_t unwritten() const;

 private:
  PartitionFile(std::unique_ptr<base::File> file, const FileHeader& header, std::uint64_t sync_bytes)
      : file_(std::move(file)),
        header_(header),
        sync_bytes_(sync_bytes) {}
  Status put(std::span<const char> bytes);
  Status sync();

  const std::unique_ptr<base::File> file_;
  const FileHeader header_;
  const std::uint64_t sync_bytes_;
  std::mutex mutex_;  // guards what follows
  Status failed_;
  std::uint32_t blocks_ = 0;
  std::uint64_t records_ = 0, bytes_ = 0;
  std::atomic<std::uint64_t> unsynced_{
      0};  // changed with the mutex, read without it to check the room; only a figure, so relaxed
};

}  // namespace granary::recovery::checkpoint
