#include "cluster_config/clock/ptp_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "cluster_config/clock/ptp_message.h"

namespace granary::cluster_config::clock::ptp {

bool Socket::connect() {
  if (descriptor_ >= 0) return true;
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  if (path_.size() >= sizeof peer.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(peer.sun_path, path_.data(), path_.size());
  descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return false;
  // The system chooses the name, to which ptp4l can answer. There is no file to clear away.
  const sockaddr_un own{.sun_family = AF_UNIX, .sun_path = {}};
  const bool done = ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&own), sizeof own.sun_family) == 0 &&
                    ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0;
  if (!done) close();
  return done;
}

void Socket::close() {
  const int error = errno;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  errno = error;
}

bool Socket::send(std::span<const std::uint8_t> message) {
  if (!connect()) return false;
  const ssize_t sent = ::send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(message.size())) return true;
  close();  // ptp4l may have begun anew; the next send() finds out
  return false;
}

std::optional<std::vector<std::uint8_t>> Socket::receive() {
  if (descriptor_ < 0) return {};
  std::vector<std::uint8_t> message(kMostMessageBytes);
  const ssize_t bytes = ::recv(descriptor_, message.data(), message.size(), MSG_TRUNC);
  if (bytes < 0) return {};
  // A message that is longer than any answer is cut, which its parser finds.
  message.resize(std::min(message.size(), static_cast<std::size_t>(bytes)));
  return message;
}

}  // namespace granary::cluster_config::clock::ptp
