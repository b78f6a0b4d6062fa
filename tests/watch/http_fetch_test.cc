// Asking several servers at once: answers, tokens, servers that are not there, say nothing, or answer too slowly or too
// much.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/watch/http/fetch.h"
#include "src/watch/http/server.h"
#include "tests/watch/raw_client.h"

namespace granary::http {
namespace {

using std::chrono::steady_clock;

TEST(Fetch, AsksAllAtOnceAndKeepsTheOrder) {
  std::vector<Respond> never;
  const auto server =
      Server::open({.ip = "127.0.0.1", .token = "secret"}, [&](const Request& request, const Respond& respond) {
        if (request.path == "/never") return never.push_back(respond);
        if (!request.authorized) return respond({.status = 401});
        if (request.path == "/much") return respond({.body = std::string(9 << 20, 'x')});
        respond({.body = request.path});
      });
  ASSERT_TRUE(server.ok());
  (*server)->start();
  const std::uint16_t port = (*server)->port();
  std::uint16_t nobody = 0;
  {
    const auto gone = Server::open({.ip = "127.0.0.1"}, [](const Request&, const Respond&) {});
    nobody = (*gone)->port();
  }
  const auto began = steady_clock::now();
  const auto fetched = fetch_all({{"127.0.0.1", port, "/a", "secret"},
                                  {"127.0.0.1", port, "/b", "wrong"},
                                  {"127.0.0.1", nobody, "/c", ""},
                                  {"127.0.0.1", port, "/never", "secret"},
                                  {"127.0.0.1", port, "/much", "secret"},
                                  {"no address", port, "/d", ""},
                                  {"127.0.0.1", port, "/e", "secret"}},
                                 300);
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(5));
  ASSERT_EQ(fetched.size(), 7u);
  EXPECT_TRUE(fetched[0].ok());
  EXPECT_EQ(fetched[0].body, "/a");
  EXPECT_EQ(fetched[1].status, 401u);
  EXPECT_NE(fetched[2].error.find("refused"), std::string::npos) << fetched[2].error;
  EXPECT_EQ(fetched[3].error, "it did not answer in time");
  EXPECT_FALSE(fetched[4].ok()) << "longer than anybody reads";
  EXPECT_FALSE(fetched[5].ok());
  EXPECT_EQ(fetched[6].body, "/e");
  (*server)->stop();
  never.clear();
}

TEST(Fetch, OfNobodyEndsAtOnce) { EXPECT_TRUE(fetch_all({}, 1000).empty()); }

}  // namespace
}  // namespace granary::http
