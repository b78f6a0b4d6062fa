#include "src/watch/http/fetch.h"

#include <chrono>
#include <memory>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "src/watch/http/fetching.h"

namespace granary::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using std::chrono::steady_clock;

/// The state of one call of begin_fetch.
struct Round {
  std::vector<Fetched> fetched;
  std::size_t open = 0;
  FetchDone done;

  void end_one() {
    if (--open == 0) done(std::move(fetched));
  }
};

/// One request and its answer. It lives as long as its next step is pending.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(asio::io_context& context, Target target, steady_clock::time_point until, std::shared_ptr<Round> round,
           Fetched& result)
      : target_(std::move(target)),
        until_(until),
        round_(std::move(round)),
        result_(result),
        stream_(context) {
    parser_.body_limit(kMostFetchedBytes);
  }

  void begin() {
    error_code error;
    const asio::ip::address address = asio::ip::make_address(target_.ip, error);
    if (error) return fail("read the address", error);
    request_.method(beast::http::verb::get);
    request_.target(target_.path);
    request_.version(11);
    request_.keep_alive(false);
    request_.set(beast::http::field::host, address.is_v6() ? fmt::format("[{}]:{}", target_.ip, target_.port)
                                                           : fmt::format("{}:{}", target_.ip, target_.port));
    if (!target_.token.empty()) request_.set(beast::http::field::authorization, "Bearer " + target_.token);
    stream_.expires_at(until_);
    stream_.async_connect({address, target_.port}, [self = shared_from_this()](error_code failed) {
      if (failed) return self->fail("connect", failed);
      self->write();
    });
  }

 private:
  void write() {
    stream_.expires_at(until_);
    beast::http::async_write(stream_, request_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed) return self->fail("ask", failed);
      self->read_head();
    });
  }

  /// Reads the head separately, because Beast 1.74 forgets that a body is too long when it reads head and body at once.
  void read_head() {
    stream_.expires_at(until_);
    beast::http::async_read_header(stream_, buffer_, parser_,
                                   [self = shared_from_this()](error_code failed, std::size_t) {
                                     if (failed) return self->fail("read the answer", failed);
                                     self->read_body();
                                   });
  }

  void read_body() {
    stream_.expires_at(until_);
    beast::http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed) return self->fail("read the answer", failed);
      self->result_.status = self->parser_.get().result_int();
      self->result_.body = std::move(self->parser_.get().body());
      self->round_->end_one();
    });
  }

  void fail(const char* what, error_code error) {
    const bool late = error == beast::error::timeout || error == asio::error::operation_aborted;
    result_.error =
        late ? std::string("it did not answer in time") : fmt::format("cannot {}: {}", what, error.message());
    round_->end_one();
  }

  const Target target_;
  const steady_clock::time_point until_;
  const std::shared_ptr<Round> round_;
  Fetched& result_;  ///< the result in the round
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  beast::http::request<beast::http::empty_body> request_;
  beast::http::response_parser<beast::http::string_body> parser_;
};

}  // namespace

void begin_fetch(asio::io_context& context, std::vector<Target> targets, std::uint32_t timeout_ms, FetchDone done) {
  auto round = std::make_shared<Round>();
  round->fetched.resize(targets.size());
  round->open = targets.size() + 1;
  round->done = std::move(done);
  const auto until = steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (std::size_t i = 0; i < targets.size(); ++i)
    std::make_shared<Exchange>(context, std::move(targets[i]), until, round, round->fetched[i])->begin();
  round->end_one();
}

std::vector<Fetched> fetch_all(std::vector<Target> targets, std::uint32_t timeout_ms) {
  asio::io_context context;
  std::vector<Fetched> fetched;
  begin_fetch(context, std::move(targets), timeout_ms, [&](std::vector<Fetched> all) { fetched = std::move(all); });
  context.run();
  return fetched;
}

}  // namespace granary::http
