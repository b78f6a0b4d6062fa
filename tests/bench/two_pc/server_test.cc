// A server without file descriptors: it does not start without those that it waits with, and refuses a caller for whom
// there is none. Not covered: what it answers (nodes_test.cc).

#include "bench/store/two_pc/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "tests/support/few_descriptors.h"

namespace granary::bench::two_pc {
namespace {

constexpr const char* kAddress = "127.0.0.1";

/// A server that waited with what it has not got would serve nobody, and could not be ended.
TEST(TwoPcServer, DoesNotStartWithoutWhatItWaitsWith) {
  Rows rows;
  constexpr std::size_t kNeeded = 4;  // to listen, to wait, to be ended, and one to spare
  for (std::size_t more = 0; more < kNeeded; ++more) {
    const int next = tests::next_descriptor();
    {
      const tests::FewDescriptors few(more);
      EXPECT_EQ(Server::start(kAddress, rows).status().code(), StatusCode::kUnavailable) << more;
    }
    EXPECT_EQ(tests::next_descriptor(), next) << "it left a file open";
  }
  const tests::FewDescriptors enough(kNeeded);
  EXPECT_TRUE(Server::start(kAddress, rows).ok());
}

class Caller {
 public:
  Caller() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};  // a server that does not answer fails the test
    EXPECT_EQ(::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  }
  void call(const Entry& server) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.port);
    ASSERT_EQ(::inet_pton(AF_INET, kAddress, &to.sin_addr), 1);
    ASSERT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  /// Whether the server ends the connection, and has said nothing.
  bool is_dropped() {
    char byte = 0;
    return ::recv(socket_.get(), &byte, sizeof byte, 0) == 0;
  }
  /// Whether the server answers who shows the token.
  bool is_served(const Entry& server) {
    std::string token;
    put(token, server.token);
    Stream stream(std::move(socket_));
    stream.add(Kind::kHello, token);
    stream.add(Kind::kPing, {});
    if (!stream.flush()) return false;
    Frame frame;
    while (stream.receive() == Stream::Came::kSomething) {
      if (stream.next(frame)) return frame.kind == Kind::kAnswer;
    }
    return false;
  }

 private:
  Socket socket_;
};

/// Otherwise epoll would tell of the caller again and again, and the thread would take a processor for that.
TEST(TwoPcServer, RefusesACallerForWhomThereIsNoDescriptor) {
  Rows rows;
  const auto server = Server::start(kAddress, rows);
  ASSERT_TRUE(server.ok()) << server.status().message();
  Caller first, second, later;
  {
    const tests::FewDescriptors none(0);
    for (Caller* caller : {&first, &second}) {
      caller->call((*server)->entry());
      EXPECT_TRUE(caller->is_dropped());
    }
  }
  later.call((*server)->entry());
  EXPECT_TRUE(later.is_served((*server)->entry()));
}

}  // namespace
}  // namespace granary::bench::two_pc
