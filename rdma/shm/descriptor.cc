#include "rdma/shm/descriptor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace granary::rdma::shm {
namespace {

constexpr int kSocketKind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kBacklog = 128;

bool name_socket(const std::string& path, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

Status too_long(const std::string& path) {
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("'{}' is too long for a socket's name (at most {} characters); choose a shorter run directory", path,
                  sizeof(sockaddr_un::sun_path) - 1));
}

}  // namespace

Status system_error(StatusCode code, const std::string& what) {
  return Status(code, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

Result<Descriptor> listen_at(const std::string& path) {
  sockaddr_un address{};
  if (!name_socket(path, address)) return too_long(path);
  Descriptor socket(::socket(AF_UNIX, kSocketKind, 0));
  ::unlink(path.c_str());
  if (!socket.open() || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return system_error(StatusCode::kUnavailable, fmt::format("listen at '{}'", path));
  }
  return socket;
}

Result<Descriptor> connect_to(const std::string& path) {
  sockaddr_un address{};
  if (!name_socket(path, address)) return too_long(path);
  Descriptor socket(::socket(AF_UNIX, kSocketKind, 0));
  if (!socket.open() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_error(StatusCode::kUnavailable, fmt::format("connect to '{}'", path));
  }
  return socket;
}

bool wait_readable(int fd, std::uint64_t timeout_us) {
  pollfd poll{fd, POLLIN, 0};
  const timespec timeout{static_cast<time_t>(timeout_us / 1'000'000), static_cast<long>(timeout_us % 1'000'000 * 1000)};
  return ::ppoll(&poll, 1, &timeout, nullptr) > 0;
}

SocketPeer peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
  return {.process = credentials.pid, .user = credentials.uid};
}

}  // namespace granary::rdma::shm
