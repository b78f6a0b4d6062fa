#pragma once
// Stands between a ZooKeeper client and its server. It loses a chosen request or its answer together with the
// connection, does something before a request arrives, or carries nothing for a while. One client at a time.

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace granary::membership::tests {

class LossyProxy {
 public:
  enum class Operation : std::int32_t { kCreate = 1, kDelete = 2, kSet = 5, kSync = 9 };
  enum class Loss { kRequest, kAnswer };

  explicit LossyProxy(const std::string& server) : server_port_(std::stoi(server.substr(server.find(':') + 1))) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  ~LossyProxy() {
    stopping_ = true;
    thread_.join();
    ::close(listener_);
  }
  LossyProxy(const LossyProxy&) = delete;
  LossyProxy& operator=(const LossyProxy&) = delete;

  const std::string& address() const { return address_; }
  /// Loses the next request of this kind, or its answer.
  void lose(Loss loss, Operation operation, std::string path) {
    const std::lock_guard lock(mutex_);
    waiting_ = true;
    loss_ = loss;
    act_ = {};
    operation_ = operation;
    path_ = std::move(path);
  }
  /// Does this before the next request of this kind arrives, and loses nothing.
  void before(Operation operation, std::string path, std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    waiting_ = true;
    act_ = std::move(act);
    operation_ = operation;
    path_ = std::move(path);
  }
  int losses() const { return losses_; }
  /// As a network does that is cut: nobody is told, and what was sent arrives when it is whole again.
  void set_cut(bool cut) { cut_ = cut; }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    return number;
  }

  void run() {
    while (!stopping_) {
      pollfd poll{listener_, POLLIN, 0};
      if (is_cut() || ::poll(&poll, 1, kPauseMs) <= 0) continue;
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = loopback(server_port_);
      if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) carry(client, server);
      ::close(client);
      ::close(server);
    }
  }
  /// Until either side hangs up, or something is to be lost.
  void carry(int client, int server) {
    bool lose_answer = false;
    while (!stopping_) {
      std::array<pollfd, 2> polls = {{{client, POLLIN, 0}, {server, POLLIN, 0}}};
      if (is_cut() || ::poll(polls.data(), polls.size(), kPauseMs) <= 0) continue;
      for (int side = 0; side < 2; ++side) {
        if (polls[static_cast<std::size_t>(side)].revents == 0) continue;
        std::array<char, 65536> bytes;
        const ssize_t got = ::recv(side == 0 ? client : server, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        const std::string_view packet(bytes.data(), static_cast<std::size_t>(got));
        if (side == 1 && lose_answer) return;
        const bool chosen = side == 0 && is_chosen(packet);
        if (chosen && act_) {
          act_();
        } else if (chosen) {
          ++losses_;
          if (loss_ == Loss::kRequest) return;
          lose_answer = true;
        }
        (void)!::send(side == 0 ? server : client, bytes.data(), packet.size(), MSG_NOSIGNAL);
      }
    }
  }
  bool is_cut() const {
    if (cut_) std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
    return cut_;
  }
  /// A request has the operation, the length of the path, and the path.
  bool is_chosen(std::string_view packet) {
    const std::lock_guard lock(mutex_);
    const std::size_t at = packet.find(path_);
    if (!waiting_ || at == packet.npos || at < 8 || number_at(packet, at - 4) != path_.size()) return false;
    if (number_at(packet, at - 8) != static_cast<std::uint32_t>(operation_)) return false;
    waiting_ = false;
    return true;
  }

  static constexpr int kPauseMs = 20;

  const int server_port_;
  int listener_ = -1;
  std::string address_;
  std::mutex mutex_;
  bool waiting_ = false;
  Loss loss_ = Loss::kRequest;
  std::function<void()> act_;
  Operation operation_ = Operation::kCreate;
  std::string path_;
  std::atomic<int> losses_{0};
  std::atomic<bool> cut_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace granary::membership::tests
