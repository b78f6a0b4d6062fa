#pragma once
// One connection of the server. It reads a request's head, has it handled, writes the answer, and begins again. The
// server's thread does all of this.

#include <list>
#include <memory>
#include <optional>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "src/watch/http/server.h"

namespace granary::http {

class Connection;
/// The open connections. The front is the one that has been silent for longest.
using Connections = std::list<Connection*>;

/// Parts that the connections of a server share; they outlive the connections.
struct ServerParts {
  const std::string token;
  const ServerLimits limits;
  const Handler handler;
  Connections connections = {};
};

/// Lives as long as its next step is pending, or the handler may still respond.
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
  /// Returns the answer by which the request is refused; none if the handler is to have it.
  std::optional<Response> refusal() const;
  void respond(Response response);
  template <typename Message>
  void write(Message& message);
  void after_write();
  /// Reads for a moment what is still coming. Otherwise the other side might hear of the end before it can read why it
  /// was refused.
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
