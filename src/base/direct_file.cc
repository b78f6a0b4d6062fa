#include "src/base/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace granary::base {
namespace {

constexpr std::uint64_t down_to_block(std::uint64_t at) { return at / kDirectBlock * kDirectBlock; }
constexpr std::uint64_t up_to_block(std::uint64_t at) { return down_to_block(at + kDirectBlock - 1); }

/// Opens a file for direct writes, or without them if the file system has none. Only opening tells that: overlayfs lets
/// F_SETFL pass, and then refuses writes and syncs if the file system below it cannot. Some file systems that cannot
/// leave a file behind that they have refused to create, so the file is made before.
Descriptor open_direct(const std::string& path, int flags) {
  Descriptor plain(::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, kNewFileMode));
  if (!plain.open()) return plain;
  Descriptor direct(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
  return direct.open() ? std::move(direct) : std::move(plain);
}

}  // namespace

void DirectFile::Free::operator()(char* memory) const { std::free(memory); }

Result<std::unique_ptr<File>> DirectFile::create(const std::string& path) {
  return open(path, O_CREAT | O_EXCL, "create", path);
}

Result<std::unique_ptr<File>> DirectFile::open_reserved(const std::string& path, const std::string& name) {
  auto file = open(path, 0, "open", name);
  if (file.ok() && ::rename(path.c_str(), name.c_str()) != 0) return file_error("rename to", name, errno);
  return file;
}

/// `name` is the file's name from now on.
Result<std::unique_ptr<File>> DirectFile::open(const std::string& path, int flags, const char* operation,
                                               const std::string& name) {
  std::array<Buffer, 2> buffers;
  for (Buffer& buffer : buffers) {
    buffer.reset(static_cast<char*>(std::aligned_alloc(kDirectBlock, kBufferBytes)));
    if (buffer == nullptr) return Status(StatusCode::kResourceExhausted, "no memory to write '" + path + "'");
  }
  Descriptor descriptor = open_direct(path, flags);
  if (!descriptor.open()) return file_error(operation, path, errno);
  return std::unique_ptr<File>(new DirectFile(std::move(descriptor), name, std::move(buffers)));
}

DirectFile::DirectFile(Descriptor descriptor, std::string path, std::array<Buffer, 2> buffers)
    : descriptor_(std::move(descriptor)),
      path_(std::move(path)),
      buffers_(std::move(buffers)),
      queue_(descriptor_.get()) {}

DirectFile::~DirectFile() { static_cast<void>(queue_.finish()); }

Status DirectFile::append(std::span<const char> bytes) {
  while (!bytes.empty()) {
    if (!failed_.ok()) return failed_;
    const std::size_t taken = std::min(bytes.size(), kBufferBytes - filled_);
    std::memcpy(buffers_[0].get() + filled_, bytes.data(), taken);
    filled_ += taken;
    bytes = bytes.subspan(taken);
    if (filled_ < kBufferBytes) continue;
    if (const Status begun = begin_rest(); !begun.ok()) return begun;
    std::swap(buffers_[0], buffers_[1]);
    start_ += kBufferBytes;
    filled_ = 0;
  }
  return {};
}

/// Begins to write those bytes of the first buffer that are not in the file yet, filled up with zeros to a whole block.
/// The other buffer is free then.
Status DirectFile::begin_rest() {
  if (const Status finished = settle(queue_.finish(), "write to"); !finished.ok()) return finished;
  const std::uint64_t end = start_ + filled_;
  if (begun_ == end) return {};
  char* const buffer = buffers_[0].get();
  const std::uint64_t from = down_to_block(std::max(begun_, start_)) - start_;
  const std::uint64_t to = up_to_block(filled_);
  std::memset(buffer + filled_, 0, to - filled_);
  begun_ = end;
  return settle(queue_.begin_write({buffer + from, to - from}, start_ + from), "write to");
}

Status DirectFile::sync() {
  if (const Status begun = begin_rest(); !begun.ok()) return begun;
  return settle(queue_.sync(), "sync");
}

Status DirectFile::settle(int error, const char* operation) {
  if (failed_.ok() && error != 0) failed_ = file_error(operation, path_, error);
  return failed_;
}

Result<std::size_t> DirectFile::read_at(std::uint64_t, std::span<char>) { return file_error("read", path_, EBADF); }

}  // namespace granary::base
