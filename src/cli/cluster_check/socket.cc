#include "src/cli/cluster_check/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace granary::cluster_check {

Socket::Socket(int family, int type, int protocol)
    : fd_(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol)) {}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

bool Socket::wait(short events, int timeout_ms) const {
  pollfd poll{fd_, events, 0};
  return ::poll(&poll, 1, timeout_ms) > 0;
}

AddressList look_up(const std::string& host, const char* port) {
  addrinfo* found = nullptr;
  const addrinfo hints{.ai_flags = 0,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  if (::getaddrinfo(host.c_str(), port, &hints, &found) != 0) found = nullptr;
  return {found, ::freeaddrinfo};
}

}  // namespace granary::cluster_check
