#include "src/cli/cluster_check/echo.h"

#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace granary::cluster_check {
namespace {

class Socket {
 public:
  Socket(int family, int type, int protocol) : fd_(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }
  bool wait(short events, int timeout_ms) const {
    pollfd poll{fd_, events, 0};
    return ::poll(&poll, 1, timeout_ms) > 0;
  }

 private:
  const int fd_;
};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

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

}  // namespace

Echo echo(const std::string& address, int timeout_ms) {
  const AddressList to = look_up(address, nullptr);
  if (to == nullptr) return Echo::kNoRoute;
  const bool six = to->ai_family == AF_INET6;
  const Socket socket(to->ai_family, SOCK_DGRAM, six ? static_cast<int>(IPPROTO_ICMPV6) : IPPROTO_ICMP);
  if (socket.get() < 0) return Echo::kNotAllowed;
  // Both kinds of request begin with type, code, checksum (filled in by the kernel), identifier, sequence.
  unsigned char request[8] = {static_cast<unsigned char>(six ? ICMP6_ECHO_REQUEST : ICMP_ECHO), 0, 0, 0, 0, 0, 0, 1};
  if (::sendto(socket.get(), request, sizeof request, 0, to->ai_addr, to->ai_addrlen) < 0) return Echo::kNoRoute;
  return socket.wait(POLLIN, timeout_ms) ? Echo::kAnswered : Echo::kSilent;
}

Result<std::string> ask_server(const std::string& host, const std::string& port, const std::string& question,
                               int timeout_ms) {
  const auto silent = [](const char* why) { return Status(StatusCode::kUnavailable, why); };
  const AddressList to = look_up(host, port.c_str());
  if (to == nullptr) return silent("no such host");
  const Socket socket(to->ai_family, SOCK_STREAM, 0);
  if (::connect(socket.get(), to->ai_addr, to->ai_addrlen) != 0 && errno != EINPROGRESS)
    return silent(std::strerror(errno));
  if (!socket.wait(POLLOUT, timeout_ms)) return silent("no answer");
  if (::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return silent(std::strerror(errno));
  if (!socket.wait(POLLIN, timeout_ms)) return silent("no answer");
  std::string answer(1024, '\0');
  const ssize_t bytes = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (bytes < 0) return silent(std::strerror(errno));
  answer.resize(static_cast<std::size_t>(bytes));
  return answer;
}

}  // namespace granary::cluster_check
