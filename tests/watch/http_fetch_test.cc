// Asking several servers at once: answers, tokens, servers that are not there, say nothing, or answer too slowly or too
// much.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "src/watch/http/fetch.h"
#include "src/watch/http/server.h"
#include "tests/cli/cluster_check/port.h"
#include "tests/watch/raw_client.h"

namespace granary::http {
namespace {

using std::chrono::steady_clock;

/// `/d` and `/g` are answered once both have come, so only to somebody who asks all at once.
TEST(Fetch, AsksAllAtOnceAndKeepsTheOrder) {
  constexpr std::uint32_t kPatience_ms = 30'000;
  std::vector<Respond> never, both;
  const auto server =
      Server::open({.ip = "127.0.0.1", .token = "secret"}, [&](const Request& request, const Respond& respond) {
        if (request.path == "/never") return never.push_back(respond);
        if (!request.authorized) return respond({.status = 401});
        if (request.path == "/much") return respond({.body = std::string(9 << 20, 'x')});
        if (request.path != "/d" && request.path != "/g") return respond({.body = request.path});
        both.push_back([respond, path = request.path](const Response&) { respond({.body = path}); });
        if (both.size() < 2) return;
        for (const Respond& waits : std::exchange(both, {})) waits({});
      });
  ASSERT_TRUE(server.ok());
  (*server)->start();
  const std::uint16_t port = (*server)->port();
  const tests::Port refuses("");
  const auto nobody = static_cast<std::uint16_t>(std::stoi(refuses.place().substr(refuses.place().rfind(':') + 1)));
  const auto fetched = fetch_all({{"127.0.0.1", port, "/a", "secret"},
                                  {"127.0.0.1", port, "/b", "wrong"},
                                  {"127.0.0.1", nobody, "/c", ""},
                                  {"127.0.0.1", port, "/d", "secret"},
                                  {"127.0.0.1", port, "/much", "secret"},
                                  {"no address", port, "/f", ""},
                                  {"127.0.0.1", port, "/g", "secret"}},
                                 kPatience_ms);
  ASSERT_EQ(fetched.size(), 7u);
  EXPECT_TRUE(fetched[0].ok());
  EXPECT_EQ(fetched[0].body, "/a");
  EXPECT_EQ(fetched[1].status, 401u);
  EXPECT_NE(fetched[2].error.find("refused"), std::string::npos) << fetched[2].error;
  EXPECT_EQ(fetched[3].body, "/d") << fetched[3].error;
  EXPECT_FALSE(fetched[4].ok()) << "longer than anybody reads";
  EXPECT_FALSE(fetched[5].ok());
  EXPECT_EQ(fetched[6].body, "/g") << fetched[6].error;
  const auto began = steady_clock::now();
  const auto silent = fetch_all({{"127.0.0.1", port, "/never", "secret"}}, 300);
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(silent.at(0).error, "it did not answer in time");
  (*server)->stop();
  never.clear();
}

TEST(Fetch, OfNobodyEndsAtOnce) { EXPECT_TRUE(fetch_all({}, 1000).empty()); }

}  // namespace
}  // namespace granary::http
