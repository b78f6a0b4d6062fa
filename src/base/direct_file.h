#pragma once
// A file that is written past the page cache, in whole blocks from buffers of its own: the caller fills one while the
// device takes the other. On a file system without such writes it is the same with the page cache.
//
// The last block may be written several times, each time with more in it. What was durable of it stays the same bytes,
// so a power loss in between leaves it as it was: a device writes a sector whole or not at all.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/disk_queue.h"
#include "src/base/file.h"

namespace granary::base {

class DirectFile final : public File {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  /// So much of what was appended may not be in the file yet.
  static constexpr std::size_t kMostUnwritten = 2 * kBufferBytes;

  /// A new file; kAlreadyExists if there is one.
  static Result<std::unique_ptr<File>> create(const std::string& path);
  /// An existing one that is all zeros.
  static Result<std::unique_ptr<File>> open_reserved(const std::string& path);
  ~DirectFile() override;
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  Status append(std::span<const char> bytes) override;
  Status sync() override;
  /// An error: the file is there to be written.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override;
  Result<std::uint64_t> size() override { return start_ + filled_; }

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  using Buffer = std::unique_ptr<char, Free>;

  static Result<std::unique_ptr<File>> open(const std::string& path, int flags, const char* operation);
  DirectFile(int descriptor, std::string path, std::array<Buffer, 2> buffers);
  Status begin_rest();
  Status settle(int error, const char* operation);

  const int descriptor_;
  const std::string path_;
  std::array<Buffer, 2> buffers_;  // the first is being filled
  std::uint64_t start_ = 0;        // where it begins in the file
  std::size_t filled_ = 0;         // bytes in it
  std::uint64_t begun_ = 0;        // bytes of the file whose write was begun
  Status failed_;                  // sticks
  DiskQueue queue_;                // waits for the buffers before they go
};

}  // namespace granary::base
