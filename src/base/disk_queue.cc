#include "src/base/disk_queue.h"

#include <unistd.h>

#include <cerrno>

#include "src/base/file_sync.h"
#include "src/base/region_mark.h"
#include "src/base/sanitizers.h"

namespace granary::base {
namespace {

constexpr std::uint64_t kWrite = 1, kSync = 2;  // says which request a completion is of

}  // namespace

/// ThreadSanitizer sees no ring come and go, as liburing maps and unmaps it by system calls of its own. A ring in the
/// place of another thread's former one would seem to be written to by both.
DiskQueue::DiskQueue(int descriptor) : descriptor_(descriptor) {
  if (kThreadSanitizer) return;
  if (::io_uring_queue_init(2, &ring_.emplace(), 0) != 0) ring_.reset();
}

DiskQueue::~DiskQueue() {
  if (!ring_) return;
  collect();
  ::io_uring_queue_exit(&*ring_);
}

int DiskQueue::begin_write(std::span<const char> bytes, std::uint64_t offset) {
  outside_region();
  if (!ring_) return write_plainly(bytes, offset);
  bytes_ = bytes;
  offset_ = offset;
  ::io_uring_prep_write(request(kWrite), descriptor_, bytes.data(), static_cast<unsigned>(bytes.size()), offset);
  return submit();
}

int DiskQueue::finish() {
  collect();
  return complete_write();
}

int DiskQueue::sync() {
  outside_region();
  if (!ring_) return sync_data(descriptor_);
  io_uring_sqe* const sqe = request(kSync);
  ::io_uring_prep_fsync(sqe, descriptor_, IORING_FSYNC_DATASYNC);
  sqe->flags |= IOSQE_IO_DRAIN;
  if (const int error = submit(); error != 0) return error;
  const bool writing = !bytes_.empty();
  collect();
  const bool whole = !writing || written_ == static_cast<int>(bytes_.size());
  if (const int error = complete_write(); error != 0) return error;
  if (synced_ < 0) return -synced_;  // must not be tried again: bytes that were not synced may be gone
  return whole ? confirm_sync(descriptor_) : sync_data(descriptor_);
}

/// Returns a request. There is always room: at most a write and a sync are under way.
io_uring_sqe* DiskQueue::request(std::uint64_t what) {
  io_uring_sqe* const sqe = ::io_uring_get_sqe(&*ring_);
  ::io_uring_sqe_set_data64(sqe, what);
  return sqe;
}

int DiskQueue::submit() {
  int submitted;
  do submitted = ::io_uring_submit(&*ring_);
  while (submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
  if (submitted < 0) return -submitted;
  ++under_way_;
  return 0;
}

/// Waits for all requests that are under way.
void DiskQueue::collect() {
  while (under_way_ > 0) {
    io_uring_cqe* done = nullptr;
    if (::io_uring_wait_cqe(&*ring_, &done) != 0) continue;  // the call was interrupted
    (done->user_data == kWrite ? written_ : synced_) = done->res;
    ::io_uring_cqe_seen(&*ring_, done);
    --under_way_;
  }
}

/// Writes the bytes that the request did not write, for whatever reason, by a plain write, whose error tells the cause.
int DiskQueue::complete_write() {
  const std::size_t written = written_ > 0 ? static_cast<std::size_t>(written_) : 0;
  const std::span<const char> rest = bytes_.empty() ? bytes_ : bytes_.subspan(written);
  bytes_ = {};
  written_ = 0;
  return write_plainly(rest, offset_ + written);
}

int DiskQueue::write_plainly(std::span<const char> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace granary::base
