#pragma once
// Writes and syncs of one file that go on while the caller does something else: by io_uring where the system has it.
// Where it has not (an old kernel, a container that forbids it), begin_write() returns when the bytes are written.
//
// Used by one thread at a time; one write at a time. Errors are those of errno, 0 for success.

#include <liburing.h>

#include <cstdint>
#include <optional>
#include <span>

namespace granary::base {

class DiskQueue {
 public:
  explicit DiskQueue(int descriptor);
  /// Waits for what is under way.
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  /// No write may be under way. `bytes` must stay as they are until finish() or sync() has returned.
  int begin_write(std::span<const char> bytes, std::uint64_t offset);
  /// Returns once the write has ended, with all its bytes.
  int finish();
  /// As finish(), and then fdatasync: the kernel begins it as soon as the write has ended.
  int sync();

 private:
  io_uring_sqe* request(std::uint64_t what);
  int submit();
  void collect();
  int complete_write();
  int write_plainly(std::span<const char> bytes, std::uint64_t offset) const;

  const int descriptor_;
  std::optional<io_uring> ring_;
  unsigned under_way_ = 0;       // requests
  std::span<const char> bytes_;  // of the write that was begun, empty once it is complete
  std::uint64_t offset_ = 0;
  int written_ = 0, synced_ = 0;  // results of the last requests
};

}  // namespace granary::base
