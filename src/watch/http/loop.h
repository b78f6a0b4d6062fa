#pragma once
// The server's thread: accepts connections, and runs the handlers of sockets and timers that are ready.

#include <chrono>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "src/watch/http/connection.h"

namespace granary::http {

class Loop final : public Server {
 public:
  Loop(const Listen& listen, Handler handler, const ServerLimits& limits);
  ~Loop() override { stop(); }

  Status listen(const Listen& listen);
  void start() override;
  void stop() override;
  std::uint16_t port() const override { return port_; }
  void every(std::uint32_t period_ms, std::function<void()> turn) override;
  void fetch(std::vector<Target> targets, std::uint32_t timeout_ms, FetchDone done) override;

 private:
  void accept();
  void accept_later();
  void take(boost::asio::ip::tcp::socket socket);
  void run();

  ServerParts parts_;  ///< outlives context_, which holds the connections
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  boost::asio::steady_timer pause_{context_};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace granary::http
