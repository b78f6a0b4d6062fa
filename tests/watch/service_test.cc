// A node's HTTP service at an address that it cannot have. What it serves is in watched_nodes_test.cc.

#include "src/watch/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::watch {
namespace {

TEST(ServiceTest, SaysWhyItCannotListen) {
  const auto look = [] { return NodeReport(); };
  const auto first = Service::start({.listen = {.ip = "127.0.0.1"}, .look = look});
  ASSERT_TRUE(first.ok()) << first.status().message();
  const Status taken = Service::start({.listen = {.ip = "127.0.0.1", .port = (*first)->port()}, .look = look}).status();
  EXPECT_EQ(taken.code(), StatusCode::kUnavailable);
  EXPECT_THAT(taken.message(), testing::HasSubstr("Address already in use"));
  const Status foreign = Service::start({.listen = {.ip = "192.0.2.1", .port = 9461}, .look = look}).status();
  EXPECT_EQ(foreign.code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace granary::watch
