#pragma once
// Writes a file past the page cache, in whole blocks from buffers of its own: the caller fills one buffer while the
// device takes the other. On a file system without such writes, it does the same through the page cache.
//
// The last block may be written several times, each time with more in it. The bytes of it that were durable stay the
// same, so a power loss in between leaves them as they were: a device writes a sector whole or not at all.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/descriptor.h"
#include "src/base/disk_queue.h"
#include "src/base/file.h"

namespace granary::base {

class DirectFile final : public File {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  /// How much of what was appended may not be in the file yet.
  static constexpr std::size_t kMostUnwritten = 2 * kBufferBytes;

  /// Makes a new file. Returns kAlreadyExists if there is one.
  static Result<std::unique_ptr<File>> create(const std::string& path);
  /// Opens an existing file that is all zeros, and renames it to `name`.
  static Result<std::unique_ptr<File>> open_reserved(const std::string& path, const std::string& name);
  ~DirectFile() override;
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  Status append(std::span<const char> bytes) override;
  Status sync() override;
  /// Returns an error, as the file is open only for writing.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override;
  Result<std::uint64_t> size() override { return start_ + filled_; }

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  using Buffer = std::unique_ptr<char, Free>;

  static Result<std::unique_ptr<File>> open(const std::string& path, int flags, const char* operation,
                                            const std::string& name);
  DirectFile(Descriptor descriptor, std::string path, std::array<Buffer, 2> buffers);
  Status begin_rest();
  Status settle(int error, const char* operation);

  const Descriptor descriptor_;
  const std::string path_;
  std::array<Buffer, 2> buffers_;  // the first is being filled
  std::uint64_t start_ = 0;        // where the first buffer begins in the file
  std::size_t filled_ = 0;         // bytes in the first buffer
  std::uint64_t begun_ = 0;        // up to here the write of the file was begun
  Status failed_;                  // the first error, which stays
  DiskQueue queue_;                // last, so that it waits for the buffers before they are freed
};

}  // namespace granary::base
