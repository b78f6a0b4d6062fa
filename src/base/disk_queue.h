#pragma once
// Writes and syncs one file while the caller does something else: by io_uring if the system has it. If it does not (an
// old kernel, a container that forbids it), begin_write() returns when the bytes are written.
//
// One thread at a time uses it, with one write at a time. Errors are those of errno; 0 is success.

#include <liburing.h>

#include <cstdint>
#include <optional>
#include <span>

namespace granary::base {

class DiskQueue {
 public:
  explicit DiskQueue(int descriptor);
  /// Waits for the requests that are under way.
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  /// Begins a write. No other write may be under way. `bytes` must stay as they are until finish() or sync() has
  /// returned.
  int begin_write(std::span<const char> bytes, std::uint64_t offset);
  /// Waits until the write has ended, with all its bytes.
  int finish();
  /// Waits as finish() does, and then calls fdatasync, which the kernel begins as soon as the write has ended.
  int sync();

 private:
  io_uring_sqe* request(std::uint64_t what);
  int submit();
  void collect();
  int complete_write();
  int write_plainly(std::span<const char> bytes, std::uint64_t offset) const;

  const int descriptor_;
  std::optional<io_uring> ring_;
  unsigned under_way_ = 0;       // how many requests are
  std::span<const char> bytes_;  // the bytes of the write that was begun; empty once it is complete
  std::uint64_t offset_ = 0;
  int written_ = 0, synced_ = 0;  // results of the last requests
};

}  // namespace granary::base
