#pragma once
// Takes the place of servers that checks ask.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace granary::tests {

/// A TCP port of this host. What connects is told `answer` once it has said something; without an answer, it is
/// refused.
class Port {
 public:
  explicit Port(std::string answer)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    place_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    if (answer_.empty()) return;
    EXPECT_EQ(::listen(fd_, 8), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~Port() {
    ::shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(fd_);
  }
  /// "127.0.0.1:PORT".
  const std::string& place() const { return place_; }

 private:
  void serve() {
    for (int guest; (guest = ::accept(fd_, nullptr, nullptr)) >= 0; ::close(guest)) {
      char question[4];
      EXPECT_EQ(::recv(guest, question, sizeof question, MSG_WAITALL), 4);
      EXPECT_EQ(::send(guest, answer_.data(), answer_.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer_.size()));
      ::shutdown(guest, SHUT_WR);
      while (::recv(guest, question, sizeof question, 0) > 0) {  // so that what is unread does not take the answer back
      }
    }
  }

  const int fd_;
  const std::string answer_;
  std::string place_;
  std::thread thread_;
};

}  // namespace granary::tests
