// The HTTP server against clients as they are and as they should not be: methods, bodies, heads, tokens, connections
// that say or read nothing. Not covered: 10,000 of them (hostile_test.cc).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/watch/http/server.h"
#include "tests/watch/raw_client.h"

namespace granary::http {
namespace {

using tests::ask_raw;
using tests::RawClient;

constexpr std::size_t kLargeBytes = std::size_t{32} << 20;

class HttpServer : public testing::Test {
 protected:
  void serve(const std::string& token = "", const ServerLimits& limits = {}) {
    auto server = Server::open({.ip = "127.0.0.1", .token = token}, handle, limits);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
    server_->start();
  }
  static void handle(const Request& request, const Respond& respond) {
    if (request.path == "/large") return respond({.body = std::string(kLargeBytes, 'x')});
    if (!request.authorized) return respond({.status = 401});
    respond({.body = "you asked for " + request.path + "\n"});
  }
  std::string ask(const std::string& head) const { return ask_raw(server_->port(), head); }
  /// GET with this header beside those that are needed.
  std::string get(const std::string& path, const std::string& header = "") const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + header + "\r\n");
  }
  bool answers() const { return get("/x").find("you asked for /x") != std::string::npos; }

  std::unique_ptr<Server> server_;
};

TEST_F(HttpServer, AnswersGetAndHead) {
  serve();
  const std::string got = get("/x?a=b");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 ")) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\nyou asked for /x\n")) << "the query is no part of the path: " << got;
  EXPECT_NE(got.find("Cache-Control: no-store"), std::string::npos);
  const std::string head = ask("HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 17\r\n"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(HttpServer, KeepsAConnectionForSeveralRequests) {
  serve();
  const std::string got =
      ask("GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /b HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(got.find("you asked for /a"), std::string::npos) << got;
  EXPECT_NE(got.find("you asked for /b"), std::string::npos) << got;
}

TEST_F(HttpServer, RefusesOtherMethods) {
  serve();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "FROB"}) {
    const std::string got = ask(std::string(method) + " /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    EXPECT_TRUE(got.starts_with("HTTP/1.1 405 ")) << method << ": " << got;
    EXPECT_NE(got.find("Allow: GET, HEAD"), std::string::npos);
  }
}

TEST_F(HttpServer, ReadsNoBody) {
  serve();
  const std::string head = "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  EXPECT_TRUE(ask(head + "Content-Length: 1073741824\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(ask(head + "Transfer-Encoding: chunked\r\n\r\n40000000\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(
      ask("POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1073741824\r\n\r\n").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(ask(head + "Content-Length: 99999999999999999999999999\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n").starts_with("HTTP/1.1 4"));
  EXPECT_TRUE(answers());
}

TEST_F(HttpServer, RefusesHeadsThatAreTooLongOrNoHttp) {
  serve();
  EXPECT_TRUE(get("/" + std::string(20'000, 'a')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(get("/x", "X: " + std::string(20'000, 'a') + "\r\n").starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(ask("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS \r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET /x HTTP/9.9\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(answers());
}

TEST_F(HttpServer, AsksForTheToken) {
  const std::string token(64, 'f');
  serve(token);
  EXPECT_TRUE(get("/x").starts_with("HTTP/1.1 401 "));
  EXPECT_NE(get("/x").find("WWW-Authenticate: Bearer"), std::string::npos);
  EXPECT_TRUE(get("/x", "Authorization: Bearer " + token + "\r\n").starts_with("HTTP/1.1 200 "));
  for (const std::string& wrong : {std::string(63, 'f'), token + "f", std::string(64, 'e'), std::string()})
    EXPECT_TRUE(get("/x", "Authorization: Bearer " + wrong + "\r\n").starts_with("HTTP/1.1 401 ")) << wrong;
  EXPECT_TRUE(get("/x?token=" + token).starts_with("HTTP/1.1 401 ")) << "a query would stand in logs";
}

TEST_F(HttpServer, WithoutATokenAnswersToAddressesOnly) {
  serve();
  const auto ask_as = [&](const std::string& host) {
    return ask("GET /x HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  };
  EXPECT_TRUE(ask_as("localhost:9461").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask_as("[::1]:9461").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask_as("evil.example:9461").starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask_as("127.0.0.1.evil.example").starts_with("HTTP/1.1 403 "));
  EXPECT_NE(ask_as("evil.example").find("the header Host is a name\n"), std::string::npos);
  const std::string without = ask("GET /x HTTP/1.0\r\n\r\n");
  EXPECT_NE(without.find(" 403 "), std::string::npos) << without;
  EXPECT_NE(without.find("a request needs the header Host with an IP address"), std::string::npos) << without;
}

TEST_F(HttpServer, RefusesSeveralHosts) {
  const std::string token(64, 'f');
  for (const std::string& asked : {std::string(), token}) {
    serve(asked);
    for (const char* second : {"127.0.0.1", "evil.example"}) {
      const std::string got = get("/x", fmt::format("host: {}\r\nAuthorization: Bearer {}\r\n", second, token));
      EXPECT_TRUE(got.starts_with("HTTP/1.1 400 ")) << got;
      EXPECT_NE(got.find("the header Host is there more than once"), std::string::npos) << got;
    }
  }
}

TEST_F(HttpServer, GivesTheSilentOnesPlaceToAnother) {
  serve("", {.connections = 4, .idle_ms = 60'000});
  std::vector<RawClient> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(server_->port());
    ASSERT_TRUE(silent.back().connected());
  }
  EXPECT_TRUE(answers());
  EXPECT_TRUE(silent.front().ended(2000)) << "the one that was silent for longest";
}

TEST_F(HttpServer, EndsConnectionsThatAreSilentForLong) {
  serve("", {.idle_ms = 200});
  const RawClient silent(server_->port()), slow(server_->port());
  slow.send("GET /x HT");
  EXPECT_TRUE(silent.ended(3000));
  EXPECT_TRUE(slow.ended(3000));
}

TEST_F(HttpServer, EndsWhoDoesNotReadItsAnswer) {
  serve("", {.answer_ms = 300});
  const int kSmall = 4096;
  const RawClient slow(server_->port(), kSmall);
  ASSERT_TRUE(slow.send("GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
  EXPECT_TRUE(answers()) << "nobody waits for the slow one";
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  EXPECT_LT(slow.read_to_end().size(), kLargeBytes) << "it was given up";
}

TEST_F(HttpServer, SaysWhereItCannotListen) {
  serve();
  const auto second = Server::open({.ip = "127.0.0.1", .port = server_->port()}, handle);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("Address already in use"), std::string::npos) << second.status().message();
  const auto elsewhere = Server::open({.ip = "192.0.2.1", .port = 9461}, handle);
  EXPECT_FALSE(elsewhere.ok());
}

TEST_F(HttpServer, EndsWithOpenConnections) {
  serve();
  const RawClient open(server_->port());
  const RawClient slow(server_->port(), 4096);
  slow.send("GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  server_.reset();
  EXPECT_TRUE(open.ended(2000));
}

}  // namespace
}  // namespace granary::http
