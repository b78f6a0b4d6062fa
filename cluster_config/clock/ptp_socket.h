#pragma once
// A connection to ptp4l's Unix socket. Sends and receives without waiting; only ptp4l's datagrams arrive.

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

  /// Connects if need be. False: ptp4l is not there, or does not take any more now; the reason is in errno.
  bool send(std::span<const std::uint8_t> message);
  /// What has arrived next, if anything.
  std::optional<std::vector<std::uint8_t>> receive();

 private:
  bool connect();
  void close();

  const std::string path_;
  int descriptor_ = -1;
};

}  // namespace granary::cluster_config::clock::ptp
