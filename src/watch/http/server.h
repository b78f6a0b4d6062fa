#pragma once
// A small HTTP server for monitoring a node: one thread, which answers GET and HEAD. No client can hold it up:
//
// - There are at most ServerLimits::connections. One more takes the place of the one that has been silent for longest,
//   so that connections that say nothing, or read nothing, never keep a new one out.
// - A connection that is silent for idle_ms, or takes longer than answer_ms to read an answer, is closed.
// - Request line and headers are bounded. A body is never read: a request that announces one is refused.
// - Without a token, which only a loopback address may do without, requests have to name the host by an IP address or
//   as "localhost". So a web page that has its own name point to this host gets nothing.
//
// HTTP itself, its parser included, is Boost.Beast's.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "src/watch/http/fetch.h"

namespace granary::http {

struct Listen {
  std::string ip;          ///< IPv4 or IPv6
  std::uint16_t port = 0;  ///< 0 for any that is free (tests)
  std::string token = {};  ///< the token that Request::authorized asks for; empty: every client is authorized
};

struct ServerLimits {
  std::size_t connections = 256;
  std::uint32_t header_bytes = 8192;
  std::uint32_t idle_ms = 10'000;
  std::uint32_t answer_ms = 10'000;
};

struct Request {
  std::string path;         ///< without the query, as it was sent: not decoded
  bool authorized = false;  ///< whether it showed the token
};

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

/// Sends the response. Called once, by the server's thread.
using Respond = std::function<void(Response)>;
/// Called by the server's thread. It may respond at once or later, and must not wait.
using Handler = std::function<void(const Request&, Respond)>;

class Server {
 public:
  /// Opens the server, which listens. kUnavailable if it cannot listen at the address. No request is handled before
  /// start().
  static Result<std::unique_ptr<Server>> open(const Listen& listen, Handler handler, const ServerLimits& limits = {});
  /// Calls stop(), and ends all connections. The objects that the handler uses have to live until then.
  virtual ~Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  virtual void start() = 0;
  /// Ends the thread. The handler has to drop each Respond that it has kept before the server is destroyed.
  virtual void stop() = 0;
  virtual std::uint16_t port() const = 0;

  // The following are for the server's thread, or before start().
  // Calls `turn` again and again, every `period_ms`.
  virtual void every(std::uint32_t period_ms, std::function<void()> turn) = 0;
  /// Asks all of `targets` at once. The server's thread calls `done` when all have answered or the time is up.
  virtual void fetch(std::vector<Target> targets, std::uint32_t timeout_ms, FetchDone done) = 0;

 protected:
  Server() = default;
};

}  // namespace granary::http
