#include "src/watch/http/loop.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "src/base/threads.h"
#include "src/watch/http/fetching.h"

namespace granary::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Repeats a turn. Lives as long as its timer is pending.
class Repeating : public std::enable_shared_from_this<Repeating> {
 public:
  Repeating(asio::io_context& context, std::uint32_t period_ms, std::function<void()> turn)
      : timer_(context),
        period_(period_ms),
        turn_(std::move(turn)) {}

  void wait() {
    timer_.expires_after(period_);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error) return;
      self->wait();
      self->turn_();
    });
  }

 private:
  asio::steady_timer timer_;
  const std::chrono::milliseconds period_;
  const std::function<void()> turn_;
};

/// Blocks all signals in this thread while it lives, because they are for the application's threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Loop::Loop(const Listen& listen, Handler handler, const ServerLimits& limits)
    : parts_{.token = listen.token, .limits = limits, .handler = std::move(handler)} {}

void Loop::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

Status Loop::listen(const Listen& listen) {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(listen.ip, error);
  const tcp::endpoint endpoint(address, listen.port);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (!error) return {};
  return {StatusCode::kUnavailable,
          fmt::format("cannot serve HTTP at {} port {}: {}", listen.ip, listen.port, error.message())};
}

void Loop::start() {
  accept();
  const NoSignals inherited;
  thread_ = std::thread([this] { run(); });
}

void Loop::run() {
  base::name_thread("gr-http");
  for (;;) {
    try {
      context_.run();
      return;
    } catch (const std::exception&) {
      // Memory was short, or a handler threw. The connection that it concerned is gone, and the others go on.
    }
  }
}

void Loop::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) return accept_later();
    take(std::move(socket));
    accept();
  });
}

/// Accepts again after a pause. Most likely the process has no descriptor left; a silent connection gives one back.
void Loop::accept_later() {
  constexpr auto kPause = std::chrono::milliseconds(20);
  if (!parts_.connections.empty()) parts_.connections.front()->close();
  pause_.expires_after(kPause);
  pause_.async_wait([this](error_code error) {
    if (!error) accept();
  });
}

void Loop::take(tcp::socket socket) {
  if (parts_.connections.size() >= parts_.limits.connections) {
    // The silent connection leaves the list when its step has ended. Until then it is the last candidate.
    Connection* const silent = parts_.connections.front();
    parts_.connections.splice(parts_.connections.end(), parts_.connections, parts_.connections.begin());
    silent->close();
  }
  std::make_shared<Connection>(std::move(socket), parts_)->read();
}

void Loop::every(std::uint32_t period_ms, std::function<void()> turn) {
  std::make_shared<Repeating>(context_, period_ms, std::move(turn))->wait();
}

void Loop::fetch(std::vector<Target> targets, std::uint32_t timeout_ms, FetchDone done) {
  begin_fetch(context_, std::move(targets), timeout_ms, std::move(done));
}

}  // namespace granary::http
