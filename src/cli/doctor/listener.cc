#include "src/cli/doctor/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "src/cli/doctor/greeting.h"
#include "src/cli/doctor/rdma_reads.h"
#include "src/cli/doctor/stream.h"

namespace granary::doctor {
namespace {

using cluster_check::Socket;

constexpr std::uint64_t kMostEchoes = 100'000;

Status system_error(const char* what, std::uint16_t port) {
  return {StatusCode::kUnavailable, fmt::format("cannot {} port {}: {}; ss -ltnp 'sport = :{}' tells who has it", what,
                                                port, std::strerror(errno), port)};
}

/// Returns a socket that listens at the port: an IPv6 one, which serves IPv4 as well, or an IPv4 one if the host has
/// IPv6 switched off.
Socket bound_socket(std::uint16_t port) {
  const int on = 1, off = 0;
  Socket six(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 any_six{};
  any_six.sin6_family = AF_INET6;
  any_six.sin6_port = htons(port);
  (void)::setsockopt(six.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  (void)::setsockopt(six.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(six.get(), reinterpret_cast<sockaddr*>(&any_six), sizeof any_six) == 0) return six;
  if (errno == EADDRINUSE || errno == EACCES) return Socket(-1);
  Socket four(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any_four{};
  any_four.sin_family = AF_INET;
  any_four.sin_port = htons(port);
  (void)::setsockopt(four.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(four.get(), reinterpret_cast<sockaddr*>(&any_four), sizeof any_four) == 0) return four;
  return Socket(-1);
}

std::uint16_t port_of(const Socket& socket) {
  sockaddr_in6 address{};  // the port is at the same place of both families
  socklen_t size = sizeof address;
  (void)::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

std::string text_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return "unknown";
  const std::string text = host.data();
  return text.starts_with("::ffff:") ? text.substr(7) : text;  // IPv4 by an IPv6 socket
}

/// Exchanges greetings with the peer, which connected and so sends first. Returns what went wrong.
std::string exchange_greetings(Stream& stream) {
  const auto line = stream.receive_line(kLongestGreeting);
  if (!line.ok()) return line.status().message();
  const std::optional<Greeting> peer = greeting_of(*line);
  if (!peer) return "it is no granary doctor";
  const std::string own = line_of(own_greeting());
  if (const Status sent = stream.send(own); !sent.ok()) return sent.message();
  if (peer->doctor_protocol == kDoctorProtocol) return "";
  return fmt::format("it speaks protocol {} of the doctor, this one {} ({})", peer->doctor_protocol, kDoctorProtocol,
                     peer->release);
}

void answer_echoes(Stream& stream, Listener::Served& served) {
  Echo echo;
  const std::span<char> bytes(reinterpret_cast<char*>(&echo), sizeof echo);
  for (; served.echoes < kMostEchoes; ++served.echoes) {
    Status status = stream.receive(bytes);
    if (status.code() == StatusCode::kNotFound) return;  // the peer is done
    if (status.ok() && echo.number == kAskForPage) {
      served.trouble = offer_page(stream);
      return;
    }
    echo.received_ns = wall_clock_ns();
    echo.returned_ns = wall_clock_ns();
    if (status.ok()) status = stream.send(bytes);
    if (status.ok()) continue;
    served.trouble = status.message();
    return;
  }
  served.trouble = fmt::format("it sent more than {} echoes", kMostEchoes);
}

}  // namespace

Result<Listener> Listener::open(std::uint16_t port) {
  Socket socket = bound_socket(port);
  if (!socket.is_open()) return system_error("use", port);
  if (::listen(socket.get(), 8) != 0) return system_error("listen at", port);
  const std::uint16_t chosen = port_of(socket);
  return Listener(std::move(socket), chosen);
}

Result<Listener::Served> Listener::serve_one(std::uint32_t timeout_ms) {
  const auto nobody = [] { return Status(StatusCode::kUnavailable, "nobody came"); };
  if (!socket_.wait(POLLIN, static_cast<int>(timeout_ms))) return nobody();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Socket guest(::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!guest.is_open()) return nobody();  // it has gone again
  const int on = 1;
  (void)::setsockopt(guest.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Stream stream(std::move(guest));
  stream.set_timeout(kGreeting_ms);
  Served served;
  served.peer = text_of(address, size);
  served.trouble = exchange_greetings(stream);
  stream.set_timeout(kEchoes_ms);
  if (served.trouble.empty()) answer_echoes(stream, served);
  return served;
}

}  // namespace granary::doctor
