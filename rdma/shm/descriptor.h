#pragma once
// Owns an open file descriptor, which is closed with it, and makes the few local sockets that shm needs.

#include <cstdint>
#include <string>
#include <utility>

#include <granary/status.h>

namespace granary::rdma::shm {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// Returns "cannot WHAT: the reason in errno".
Status system_error(StatusCode code, const std::string& what);

/// Makes a socket of packets that listens at `path`. The socket file of a dead process there is replaced.
Result<Descriptor> listen_at(const std::string& path);
/// Makes a socket of packets connected to `path`. Returns kUnavailable if no process listens there.
Result<Descriptor> connect_to(const std::string& path);
/// Waits until the socket can be read or has been hung up. Returns false after `timeout_us`.
bool wait_readable(int fd, std::uint64_t timeout_us);

/// The process at the other end of a connected socket.
struct SocketPeer {
  int process = 0;
  unsigned user = 0;
};
SocketPeer peer_of(int socket);

}  // namespace granary::rdma::shm
