// A real node against whoever means it ill: 10,000 connections that say nothing, requests that announce a gigabyte,
// wrong tokens, slow readers; and a cluster file that would let anybody look from elsewhere.

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/watch/watched_cluster.h"

namespace granary::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kSilent = 10'000;

/// Lets this process have so many files open; false if the system does not.
bool may_open(std::size_t files) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, files));
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= files;
}

class HostileClients : public testing::Test {
 protected:
  void SetUp() override {
    cluster_.start(1);
    ASSERT_TRUE(within(seconds(40), [&] { return cluster_.ready(1); })) << file_contents(cluster_.err(1));
  }
  std::uint16_t port() const { return cluster_.port(1); }
  /// How long the node takes to say that it is well.
  milliseconds answer_time() const {
    const auto began = steady_clock::now();
    EXPECT_TRUE(cluster_.get(1, "/healthz").ok());
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
  }

  WatchedCluster cluster_{1};
};

TEST_F(HostileClients, TenThousandSilentConnectionsKeepNobodyOut) {
  if (!may_open(kSilent + 200)) GTEST_SKIP() << "this user may not open so many files";
  std::vector<std::unique_ptr<RawClient>> silent;
  for (std::size_t i = 0; i < kSilent; ++i) {
    silent.push_back(std::make_unique<RawClient>(port()));
    ASSERT_TRUE(silent.back()->connected()) << i;
    if (i % 1000 == 0) {
      EXPECT_LT(answer_time(), seconds(2)) << i;
    }
  }
  EXPECT_LT(answer_time(), seconds(2));
  EXPECT_TRUE(cluster_.get(1, "/metrics").ok());
  // The node keeps a bounded number of them.
  const std::string metrics = cluster_.get(1, "/metrics").body;
  const std::size_t at = metrics.find("process_open_fds{");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::strtod(metrics.c_str() + metrics.find(' ', at), nullptr), 1000);
}

TEST_F(HostileClients, AnnouncedGigabytesAreNotWaitedFor) {
  std::vector<std::unique_ptr<RawClient>> senders;
  for (int i = 0; i < 50; ++i) {
    senders.push_back(std::make_unique<RawClient>(port()));
    senders.back()->send("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1073741824\r\n\r\n");
    senders.back()->send(std::string(1 << 16, 'x'));
  }
  EXPECT_LT(answer_time(), seconds(2));
  const std::string refused =
      ask_raw(port(), "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1073741824\r\n\r\n");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 413 ")) << refused;
}

TEST_F(HostileClients, SlowReadersHoldNobodyUp) {
  std::vector<std::unique_ptr<RawClient>> readers;
  const int kSmall = 4096;
  for (int i = 0; i < 300; ++i) {
    readers.push_back(std::make_unique<RawClient>(port(), kSmall));
    std::string many;
    for (int request = 0; request < 20; ++request) many += "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    readers.back()->send(many);
  }
  EXPECT_LT(answer_time(), seconds(2));
}

TEST_F(HostileClients, NoOtherPathAndNoOtherPort) {
  for (const char* path :
       {"/../../etc/passwd", "/%2e%2e/etc/passwd", "//", "/metrics/", "/page.js/..", "/cluster.toml"})
    EXPECT_EQ(cluster_.get(1, path).status, 404u) << path;
  EXPECT_TRUE(cluster_.get(1, "/").body.starts_with("<!doctype html>"));
  // The only port that the process listens at is that of the file.
  const std::string listening = cluster_.path("listening");
  const std::string command =
      "ss -Hltnp | grep 'pid=" + std::to_string(cluster_.process(1).pid()) + ",' | awk '{print $4}' > ";
  ASSERT_EQ(std::system((command + listening).c_str()), 0);
  EXPECT_EQ(file_contents(listening), "127.0.0.1:" + std::to_string(port()) + "\n");
}

TEST(Tokens, AreAskedForAndShownByNodesToEachOther) {
  const std::string token(64, 'a');
  WatchedCluster cluster(2, "http_token_file = \"token\"\n");
  std::ofstream(cluster.path("token")) << token << "\n";
  std::filesystem::permissions(cluster.path("token"), std::filesystem::perms::owner_read);
  cluster.start(1);
  cluster.start(2);
  ASSERT_TRUE(within(seconds(40), [&] { return cluster.ready(1) && cluster.ready(2); }))
      << file_contents(cluster.err(1));
  for (const char* path : {"/metrics", "/status.json", "/node.json"}) {
    EXPECT_EQ(cluster.get(1, path).status, 401u) << path;
    EXPECT_EQ(cluster.get(1, path, std::string(64, 'b')).status, 401u) << path;
    EXPECT_EQ(cluster.get(1, std::string(path) + "?token=" + token).status, 401u) << path;
    EXPECT_EQ(cluster.get(1, path, token).status, 200u) << path;
  }
  EXPECT_TRUE(within(seconds(10), [&] { return cluster.status(1, token)["cluster"]["nodes_ready"] == 2; }))
      << "the nodes show each other the token: " << cluster.status(1, token);
  EXPECT_EQ(
      std::system((std::string(GRANARY_COMMAND) + " top --once --cluster=" + cluster.file() + " > /dev/null").c_str()),
      0);
}

TEST(Tokens, AreNeededWhereOthersReachTheNode) {
  WatchedCluster cluster(1);
  const auto start = [&](const std::string& lines) {
    std::ofstream(cluster.path("open.toml"))
        << "[cluster]\nname = \"bank\"\nrun_directory = \"run\"\n[[node]]\nid = 1\n"
        << lines;
    CommandProcess node({"node", "--cluster=" + cluster.path("open.toml"), "--id=1"}, cluster.path("said"),
                        cluster.path("said"));
    return node.wait();
  };
  EXPECT_EQ(start("http = \"0.0.0.0:9461\"\n"), 2);
  EXPECT_NE(file_contents(cluster.path("said")).find("whoever asks has to show a token"), std::string::npos);
  std::ofstream(cluster.path("token")) << "a short one\n";
  std::filesystem::permissions(cluster.path("token"), std::filesystem::perms::all);
  EXPECT_NE(start("http = \"0.0.0.0:9461\"\nhttp_token_file = \"token\"\n"), 0);
  EXPECT_NE(file_contents(cluster.path("said")).find("others may use the http_token_file"), std::string::npos)
      << file_contents(cluster.path("said"));
}

}  // namespace
}  // namespace granary::tests
