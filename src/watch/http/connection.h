#pragma once
// One connection of the server: reads a request's head, has it handled, writes the answer, and again. All by the
// server's thread.

#include <list>
#include <memory>
#include <optional>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "src/watch/http/server.h"

namespace granary::http {

class Connection;
/// The open connections; at the front the one that has been silent for longest.
using Connections = std::list<Connection*>;

/// What the connections of a server have in common; outlives them.
struct ServerParts {
  const std::string token;
  const ServerLimits limits;
  const Handler handler;
  Connections connections = {};
};

/// Lives as long as its next step is waited for, or the handler may still respond.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ServerParts& parts);
  ~Connection() { parts_.connections.erase(place_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits for a request.
  void read();
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  using Fields = boost::beast::http::response<boost::beast::http::string_body>;
  using HeadOnly = boost::beast::http::response<boost::beast::http::empty_body>;

  void handle(boost::system::error_code error);
  /// Why the request is not for the handler; none if it is.
  std::optional<Response> refusal() const;
  void respond(Response response);
  template <typename Message>
  void write(Message& message);
  void after_write();
  /// Reads what is still coming for a moment, so that the other side can read why it was refused before it hears of the
  /// end.
  void linger();

  ServerParts& parts_;
  const Connections::iterator place_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Fields answer_;
  HeadOnly head_;
  std::size_t lingered_bytes_ = 0;
};

}  // namespace granary::http
