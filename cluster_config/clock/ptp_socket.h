#pragma once
// Connects to ptp4l's Unix socket. It sends and receives without waiting, and only ptp4l's datagrams arrive.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace granary::cluster_config::clock::ptp {

class Socket {
 public:
  explicit Socket(std::string path) : path_(std::move(path)) {}
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Sends the message, and connects before if need be. Returns false if ptp4l is not there, or takes no more messages
  /// now. The reason is in errno.
  bool send(std::span<const std::uint8_t> message);
  /// Returns the next message that has arrived, if there is one.
  std::optional<std::vector<std::uint8_t>> receive();

 private:
  bool connect();
  void close();

  const std::string path_;
  int descriptor_ = -1;
};

}  // namespace granary::cluster_config::clock::ptp
