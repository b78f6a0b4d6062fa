#include "src/cli/cluster_check/echo.h"

#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "src/cli/cluster_check/socket.h"

namespace granary::cluster_check {
namespace {

/// A socket for ICMP echoes. The setting ping_group_range lets groups have sockets for them; by default no group may,
/// not even root's. Users that may open raw sockets, such as root, do without it.
class EchoSocket {
 public:
  explicit EchoSocket(int family) : six_(family == AF_INET6) {
    const int protocol = six_ ? static_cast<int>(IPPROTO_ICMPV6) : IPPROTO_ICMP;
    socket_.emplace(family, SOCK_DGRAM, protocol);
    raw_ = socket_->get() < 0;
    if (raw_) socket_.emplace(family, SOCK_RAW, protocol);
  }

  bool open() const { return socket_->get() >= 0; }
  /// Sends a request; returns false if there is no way to the host. From then on the socket hears this host only.
  bool ask(const addrinfo& to) {
    // Both kinds of request begin with type, code, checksum, identifier and sequence. The kernel fills in the checksum,
    // except in raw IPv4 packets, and the identifier, except on raw sockets.
    Message request{static_cast<unsigned char>(six_ ? ICMP6_ECHO_REQUEST : ICMP_ECHO),
                    0,
                    0,
                    0,
                    identifier_[0],
                    identifier_[1],
                    sequence_[0],
                    sequence_[1]};
    if (raw_ && !six_) put_checksum(request);
    return ::connect(socket_->get(), to.ai_addr, to.ai_addrlen) == 0 &&
           ::send(socket_->get(), request.data(), request.size(), 0) >= 0;
  }
  bool wait_for_answer(int timeout_ms) const {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      if (!socket_->wait(POLLIN, static_cast<int>(std::max<std::int64_t>(0, left.count())))) return false;
      std::array<unsigned char, 256> packet;
      const ssize_t bytes = ::recv(socket_->get(), packet.data(), packet.size(), 0);
      if (bytes < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (bytes > 0 && answers({packet.data(), static_cast<std::size_t>(bytes)})) return true;
    }
  }

 private:
  using Message = std::array<unsigned char, 8>;
  using Number = std::array<unsigned char, 2>;

  static Number number_of(unsigned value) {
    return {static_cast<unsigned char>(value >> 8), static_cast<unsigned char>(value)};
  }
  static unsigned next_sequence() {
    static std::atomic<unsigned> next{
        1};  // written and read by all threads that ask; only uniqueness matters, so relaxed
    return next.fetch_add(1, std::memory_order_relaxed);
  }

  /// Sets the Internet checksum (RFC 1071) of a message in which it is 0.
  static void put_checksum(Message& message) {
    unsigned sum = 0;
    for (std::size_t at = 0; at < message.size(); at += 2) sum += message[at] << 8 | message[at + 1];
    sum = ~((sum & 0xffff) + (sum >> 16));
    message[2] = static_cast<unsigned char>(sum >> 8);
    message[3] = static_cast<unsigned char>(sum);
  }
  /// Returns whether the packet answers this socket's request. A raw socket hears all ICMP packets, with the IPv4
  /// header in front; if the host asks itself, also the request. Until it is connected it also hears answers to other
  /// sockets. The identifier (of the process) and the sequence (of the socket) tell them apart.
  bool answers(std::span<const unsigned char> packet) const {
    const std::size_t header = raw_ && !six_ ? std::size_t{4} * (packet[0] & 0xf) : 0;
    if (packet.size() < header + sizeof(Message)) return false;
    packet = packet.subspan(header);
    if (packet[0] != (six_ ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY)) return false;
    if (packet[6] != sequence_[0] || packet[7] != sequence_[1]) return false;
    return !raw_ || (packet[4] == identifier_[0] && packet[5] == identifier_[1]);
  }

  const bool six_;
  const Number identifier_ = number_of(static_cast<unsigned>(::getpid())), sequence_ = number_of(next_sequence());
  bool raw_ = false;
  std::optional<Socket> socket_;
};

}  // namespace

Echo echo(const std::string& address, int timeout_ms) {
  const AddressList to = look_up(address, nullptr);
  if (to == nullptr) return Echo::kNoRoute;
  EchoSocket socket(to->ai_family);
  if (!socket.open()) return Echo::kNotAllowed;
  if (!socket.ask(*to)) return Echo::kNoRoute;
  return socket.wait_for_answer(timeout_ms) ? Echo::kAnswered : Echo::kSilent;
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
