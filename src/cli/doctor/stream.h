#pragma once
// A TCP connection between two doctors. No call outlasts the stream's deadline, whatever the other side does.

#include <cstdint>
#include <span>
#include <string>

#include <granary/status.h>

#include "src/cli/cluster_check/socket.h"

namespace granary::doctor {

class Stream {
 public:
  /// Takes a connected socket.
  explicit Stream(cluster_check::Socket socket) : socket_(std::move(socket)) {}

  /// Connects to the first address of the host that answers. kUnavailable with the reason if none does in time.
  static Result<Stream> connect(const std::string& host, std::uint16_t port, std::uint32_t timeout_ms);

  /// Sets when all calls from now on are over.
  void set_timeout(std::uint32_t timeout_ms);

  /// Sends all bytes; kUnavailable with the reason if it cannot.
  Status send(std::span<const char> bytes);
  /// Receives until all bytes are filled; kNotFound if the other side has closed before the first of them.
  Status receive(std::span<char> bytes);
  /// Receives a line and returns it without its end. kInvalidArgument if no line ends within so many bytes.
  Result<std::string> receive_line(std::size_t most_bytes);

 private:
  int left_ms() const;

  cluster_check::Socket socket_;
  std::uint64_t deadline_ns_ = 0;  ///< CLOCK_MONOTONIC
};

}  // namespace granary::doctor
