// Addresses for HTTP as a cluster file writes them, and where a node is asked.

#include "cluster_config/http_address.h"

#include <gtest/gtest.h>

#include "cluster_config/config.h"

namespace granary::cluster_config {
namespace {

TEST(HttpAddress, IsReadInItsForms) {
  EXPECT_EQ(http_address_of("9461"), (HttpAddress{"127.0.0.1", 9461}));
  EXPECT_EQ(http_address_of("10.0.0.1:80"), (HttpAddress{"10.0.0.1", 80}));
  EXPECT_EQ(http_address_of("[::1]:65535"), (HttpAddress{"::1", 65535}));
  EXPECT_EQ(http_address_of("[0:0::1]:1")->text(), "[::1]:1");
  for (const char* bad : {"", "0", "65536", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", ":9461", "[::1]", "[]:1",
                          "[127.0.0.1]:1", "localhost:1", "1.2.3:4", "127.0.0.1:1x", " 9461"})
    EXPECT_FALSE(http_address_of(bad)) << bad;
}

TEST(HttpAddress, KnowsWhoReachesIt) {
  for (const char* own : {"1", "127.0.0.1:1", "127.1.2.3:1", "[::1]:1"})
    EXPECT_TRUE(http_address_of(own)->loopback()) << own;
  for (const char* open : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[fe80::1]:1", "[::ffff:127.0.0.1]:1"})
    EXPECT_FALSE(http_address_of(open)->loopback()) << open;
}

TEST(HttpAddress, IsAskedAtOneAddress) {
  EXPECT_FALSE(http_asked_at(NodeConfig{}));
  EXPECT_EQ(http_asked_at(NodeConfig{.address = "10.0.0.2", .http = "0.0.0.0:9461"})->text(), "10.0.0.2:9461");
  EXPECT_EQ(http_asked_at(NodeConfig{.http = "0.0.0.0:9461"})->text(), "127.0.0.1:9461");
  EXPECT_EQ(http_asked_at(NodeConfig{.address = "10.0.0.2", .http = "10.0.0.3:9461"})->text(), "10.0.0.3:9461");
}

}  // namespace
}  // namespace granary::cluster_config
