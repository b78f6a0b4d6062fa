#include "bench/store/two_pc/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace granary::bench::two_pc {
namespace {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  std::uint16_t port() const {  // IPv4 and IPv6 addresses have it at the same place
    return ntohs(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_port);
  }
};

Result<SocketAddress> socket_address(const std::string& address, std::uint16_t port) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list) != 0)
    return Status(StatusCode::kInvalidArgument, fmt::format("'{}' is no IP address", address));
  SocketAddress out;
  out.size = list->ai_addrlen;
  std::memcpy(&out.bytes, list->ai_addr, list->ai_addrlen);
  ::freeaddrinfo(list);
  return out;
}

Status trouble(const char* what, const std::string& address, std::uint16_t port) {
  return Status(StatusCode::kUnavailable,
                fmt::format("cannot {} {} port {}: {}", what, address, port, std::strerror(errno)));
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Socket> listen_at(const std::string& address, std::uint16_t* port) {
  auto at = socket_address(address, 0);
  if (!at.ok()) return at.status();
  Socket listener(::socket(at->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), at->get(), at->size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), at->get(), &at->size) != 0) {
    return trouble("listen at", address, 0);
  }
  *port = at->port();
  return listener;
}

Result<Socket> connect_to(const std::string& address, std::uint16_t port) {
  auto to = socket_address(address, port);
  if (!to.ok()) return to.status();
  Socket socket(::socket(to->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), to->get(), to->size) != 0) return trouble("connect to", address, port);
  return socket;
}

}  // namespace granary::bench::two_pc
