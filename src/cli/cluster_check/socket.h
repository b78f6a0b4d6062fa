#pragma once
// Sockets of the checks. A socket never blocks; its user waits for it with a time limit.

#include <netdb.h>

#include <memory>
#include <string>
#include <utility>

namespace granary::cluster_check {

class Socket {
 public:
  Socket(int family, int type, int protocol);
  /// Takes an open descriptor that does not block.
  explicit Socket(int descriptor) : fd_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// Returns whether one of the events of poll() came within the time.
  bool wait(short events, int timeout_ms) const;

 private:
  int fd_;
};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Returns the TCP addresses of a host, its preferred one first; nullptr if it has none.
AddressList look_up(const std::string& host, const char* port);

}  // namespace granary::cluster_check
