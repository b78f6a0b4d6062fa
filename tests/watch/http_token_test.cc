// What the headers Authorization and Host say.

#include <gtest/gtest.h>

#include "src/watch/http/token.h"

namespace granary::http {
namespace {

TEST(Token, IsShownAsABearerToken) {
  EXPECT_TRUE(shows_token("Bearer secret", "secret"));
  EXPECT_TRUE(shows_token("bearer   secret", "secret"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer secre", "Bearer secret ", "Bearer Secret", "secret",
                            "Basic secret", "Bearer secretsecret"})
    EXPECT_FALSE(shows_token(wrong, "secret")) << wrong;
}

TEST(Host, IsAnAddressOrLocalhost) {
  for (const char* good : {"127.0.0.1", "10.0.0.1:9461", "localhost", "LOCALHOST:1", "[::1]", "[fe80::1]:9461"})
    EXPECT_TRUE(names_address(good)) << good;
  for (const char* bad : {"", "a", "localhost.example", "127.0.0.1.example", "127.0.0.1:", "127.0.0.1:x", "::1", "[::1",
                          "[::1]x", "[]:1", "127.0.0.1:123456", "localhost:1:2"})
    EXPECT_FALSE(names_address(bad)) << bad;
}

}  // namespace
}  // namespace granary::http
