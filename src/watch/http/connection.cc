#include "src/watch/http/connection.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "src/watch/http/token.h"

namespace granary::http {

namespace beast = boost::beast;
using beast::http::field;
using beast::http::verb;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

/// Sets the header fields of all answers. A browser may show an answer, with files of the same origin, and nothing
/// else.
void set_common_fields(beast::http::fields& fields) {
  fields.set(field::cache_control, "no-store");
  fields.set(field::x_frame_options, "DENY");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Content-Security-Policy",
             "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:");
}

/// Returns the answer to a head that cannot be read; none if the other side has closed, or has said nothing for too
/// long.
std::optional<Response> complaint(error_code failed) {
  using HttpError = beast::http::error;
  if (failed == HttpError::end_of_stream || failed == HttpError::partial_message) return std::nullopt;
  if (failed == HttpError::header_limit || failed == HttpError::buffer_overflow)
    return Response{.status = 431, .body = "the head of the request is too long\n"};
  if (failed.category() != make_error_code(HttpError::end_of_stream).category()) return std::nullopt;
  return Response{.status = 400, .body = "no request that can be read: " + failed.message() + "\n"};
}

}  // namespace

Connection::Connection(boost::asio::ip::tcp::socket socket, ServerParts& parts)
    : parts_(parts),
      place_(parts.connections.insert(parts.connections.end(), this)),
      stream_(std::move(socket)),
      buffer_(parts.limits.header_bytes + 1024) {}

void Connection::read() {
  parser_.emplace();
  parser_->header_limit(parts_.limits.header_bytes);
  parser_->body_limit(
      std::numeric_limits<std::uint64_t>::max());  // no body is read, and refusal() refuses requests that have one
  stream_.expires_after(milliseconds(parts_.limits.idle_ms));
  beast::http::async_read_header(stream_, buffer_, *parser_,
                                 [self = shared_from_this()](error_code error, std::size_t) { self->handle(error); });
}

void Connection::close() {
  error_code ignored;
  stream_.socket().close(ignored);
}

void Connection::handle(error_code error) {
  if (error) {
    auto refused = complaint(error);
    if (!refused) return close();
    parser_.emplace();  // whatever the request was, it is no HEAD, and the connection ends
    return respond(std::move(*refused));
  }
  parts_.connections.splice(parts_.connections.end(), parts_.connections, place_);
  if (auto refused = refusal(); refused) return respond(std::move(*refused));
  const auto& request = parser_->get();
  const std::string_view target = view(request.target());
  const Request asked{
      .path = std::string(target.substr(0, target.find('?'))),
      .authorized = parts_.token.empty() || shows_token(view(request[field::authorization]), parts_.token)};
  parts_.handler(asked, [self = shared_from_this()](Response response) { self->respond(std::move(response)); });
}

std::optional<Response> Connection::refusal() const {
  const auto& request = parser_->get();
  if (request.method() != verb::get && request.method() != verb::head)
    return Response{.status = 405, .body = "only GET and HEAD\n"};
  if (parser_->chunked() || (parser_->content_length() && *parser_->content_length() != 0))
    return Response{.status = 413, .body = "a request has no body here\n"};
  if (request.count(field::host) > 1)  // RFC 9112, section 3.2: a proxy may have used the other one
    return Response{.status = 400, .body = "the header Host is there more than once\n"};
  if (parts_.token.empty() && !names_address(view(request[field::host]))) {
    const bool named = request.count(field::host) != 0;  // HTTP/1.0 may leave it out
    return Response{.status = 403,
                    .body = named
                                ? "without a token, ask by an IP address or as localhost: the header Host is a name\n"
                                : "without a token, a request needs the header Host with an IP address or localhost\n"};
  }
  return std::nullopt;
}

void Connection::respond(Response response) {
  const auto& request = parser_->get();
  // After a refusal the rest of the request may still come. It cannot be told from a next request, so the connection
  // ends.
  const bool refused =
      response.status == 400 || response.status == 405 || response.status == 413 || response.status == 431;
  answer_ = Fields();
  answer_.version(11);
  answer_.result(response.status);
  answer_.set(field::content_type, response.content_type);
  set_common_fields(answer_);
  if (response.status == 401) answer_.set(field::www_authenticate, "Bearer");
  if (response.status == 405) answer_.set(field::allow, "GET, HEAD");
  answer_.keep_alive(!refused && parser_->is_header_done() && request.keep_alive());
  answer_.content_length(response.body.size());
  stream_.expires_after(milliseconds(parts_.limits.answer_ms));
  if (request.method() == verb::head) {
    head_ = HeadOnly(answer_.base());
    return write(head_);
  }
  answer_.body() = std::move(response.body);
  write(answer_);
}

template <typename Message>
void Connection::write(Message& message) {
  beast::http::async_write(stream_, message, [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->close();
    self->after_write();
  });
}

void Connection::after_write() {
  answer_.body().clear();
  answer_.body().shrink_to_fit();
  if (answer_.keep_alive()) return read();
  error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(milliseconds(1000));
  linger();
}

void Connection::linger() {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  buffer_.consume(buffer_.size());
  if (lingered_bytes_ > kMost) return close();
  stream_.async_read_some(buffer_.prepare(parts_.limits.header_bytes),
                          [self = shared_from_this()](error_code error, std::size_t bytes) {
                            if (error) return self->close();
                            self->lingered_bytes_ += bytes;
                            self->linger();
                          });
}

}  // namespace granary::http
