#include "src/cli/doctor/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "src/base/tsc_clock.h"

namespace granary::doctor {
namespace {

constexpr std::uint64_t kMillisecondNs = 1'000'000;

Status unavailable(std::string why) { return {StatusCode::kUnavailable, std::move(why)}; }

/// Connects the socket. Returns 0, or the errno of the failure.
int connect_error(const cluster_check::Socket& socket, const addrinfo& to, int timeout_ms) {
  if (!socket.is_open()) return errno;
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!socket.wait(POLLOUT, timeout_ms)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

Result<Stream> Stream::connect(const std::string& host, std::uint16_t port, std::uint32_t timeout_ms) {
  const cluster_check::AddressList list = cluster_check::look_up(host, std::to_string(port).c_str());
  if (list == nullptr) return Status(StatusCode::kNotFound, "no such host");
  int error = 0;
  for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
    cluster_check::Socket socket(to->ai_family, SOCK_STREAM, 0);
    error = connect_error(socket, *to, static_cast<int>(timeout_ms));
    if (error != 0) continue;
    const int on = 1;
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Stream stream(std::move(socket));
    stream.set_timeout(timeout_ms);
    return stream;
  }
  return unavailable(std::strerror(error));
}

void Stream::set_timeout(std::uint32_t timeout_ms) {
  deadline_ns_ = base::monotonic_ns() + timeout_ms * kMillisecondNs;
}

int Stream::left_ms() const {
  const std::uint64_t now = base::monotonic_ns();
  return now >= deadline_ns_ ? 0 : static_cast<int>((deadline_ns_ - now + kMillisecondNs - 1) / kMillisecondNs);
}

Status Stream::send(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return unavailable(std::strerror(errno));
    }
    if (!bytes.empty() && !socket_.wait(POLLOUT, left_ms())) return unavailable("it takes nothing");
  }
  return {};
}

Status Stream::receive(std::span<char> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
      continue;
    }
    if (got == 0) return {filled == 0 ? StatusCode::kNotFound : StatusCode::kUnavailable, "it closed the connection"};
    if (errno != EAGAIN && errno != EINTR) return unavailable(std::strerror(errno));
    if (!socket_.wait(POLLIN, left_ms())) return unavailable("it says nothing");
  }
  return {};
}

Result<std::string> Stream::receive_line(std::size_t most_bytes) {
  std::string line;
  for (char c = 0; line.size() < most_bytes; line += c) {
    if (Status status = receive({&c, 1}); !status.ok()) return status;
    if (c == '\n') return line;
  }
  return Status(StatusCode::kInvalidArgument, fmt::format("no line ends within {} bytes", most_bytes));
}

}  // namespace granary::doctor
