#pragma once
// A TCP client that sends what it is told, also what no HTTP client would.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace granary::tests {

class RawClient {
 public:
  /// `receive_bytes`: of its buffer; 0: as the system has it.
  explicit RawClient(std::uint16_t port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (receive_bytes != 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
  }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() const { ::shutdown(fd_, SHUT_WR); }
  /// What comes until the other side ends the connection, or for so long.
  std::string read_to_end(int timeout_ms = 5000) const {
    std::string text;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
      if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) <= 0) return text;
      std::array<char, 4096> buffer{};
      const ssize_t bytes = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (bytes <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }
  /// Whether the other side has ended the connection within so long.
  bool ended(int timeout_ms) const {
    const auto began = std::chrono::steady_clock::now();
    read_to_end(timeout_ms);
    return std::chrono::steady_clock::now() - began < std::chrono::milliseconds(timeout_ms);
  }

 private:
  int fd_;
  bool connected_ = false;
};

/// Sends a request and returns all that is answered. The request says itself that the connection ends.
inline std::string ask_raw(std::uint16_t port, std::string_view request) {
  const RawClient client(port);
  client.send(request);
  return client.read_to_end();
}

}  // namespace granary::tests
