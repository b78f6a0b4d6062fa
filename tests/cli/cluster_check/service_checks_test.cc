// Hosts, clock and ZooKeeper as `granary cluster check` sees them. ZooKeeper's place is taken by a socket that listens.

#include "src/cli/cluster_check/service_checks.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "src/cli/cluster_check/echo.h"
#include "tests/cli/cluster_check/port.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using testing::HasSubstr;

TEST(ServiceChecks, AMajorityOfZooKeepersServersIsEnough) {
  const tests::Port one("Zookeeper version: 3.8.0\n"), two("Zookeeper version: 3.8.0\n"), down("");
  const tests::Port waiting("This ZooKeeper instance is not currently serving requests\n"), other("220 mail\n");
  ClusterConfig config;
  config.membership.kind = cluster_config::MembershipKind::kZookeeper;
  config.membership.servers = {one.place(), down.place(), two.place()};
  const Findings findings = check_services(config);
  EXPECT_FALSE(any_bad(findings));
  EXPECT_THAT(text_of(findings), HasSubstr(down.place() + " does not serve: Connection refused"));
  config.membership.servers = {one.place(), waiting.place(), other.place()};
  const std::string text = text_of(check_services(config));
  EXPECT_TRUE(any_bad(check_services(config)));
  EXPECT_THAT(text, HasSubstr("1 of 3 servers serve, which is no majority"));
  EXPECT_THAT(text, HasSubstr("does not serve requests yet"));
  EXPECT_THAT(text, HasSubstr("it is no ZooKeeper"));
}

TEST(ServiceChecks, AnAddressOfZooKeeperMayHaveBrackets) {
  ClusterConfig config;
  config.membership.kind = cluster_config::MembershipKind::kZookeeper;
  config.membership.servers = {"[::1]:1"};
  const std::string text = text_of(check_services(config));
  EXPECT_THAT(text, HasSubstr("[::1]:1 does not serve: "));
  EXPECT_THAT(text, testing::Not(HasSubstr("no such host")));
}

TEST(ServiceChecks, AClockWithoutItsServiceIsBad) {
  ClusterConfig config;
  EXPECT_FALSE(any_bad(check_services(config)));
  config.clock = {.kind = cluster_config::ClockKind::kNone};
  EXPECT_FALSE(any_bad(check_services(config)));
  EXPECT_THAT(text_of(check_services(config)), HasSubstr("lock what they would lease"));
  config.clock = {.kind = cluster_config::ClockKind::kPtp, .pmc_socket = "/nowhere/ptp4l"};
  EXPECT_THAT(text_of(check_services(config)), HasSubstr("grandmaster"));
  config.clock.grandmaster = "001122.fffe.334455";
  const Findings findings = check_services(config);
  EXPECT_TRUE(any_bad(findings));
  EXPECT_THAT(text_of(findings), HasSubstr("cannot be reached at /nowhere/ptp4l"));
}

/// Whoever may open raw sockets, or belongs to a group that may ping.
TEST(ServiceChecks, RootMayPing) {
  if (const int raw = ::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); raw >= 0) {
    ::close(raw);
    EXPECT_EQ(echo("127.0.0.1", 1000), Echo::kAnswered);
    EXPECT_NE(echo("::1", 1000), Echo::kNotAllowed);
    EXPECT_NE(echo("240.0.0.1", 100), Echo::kAnswered);
  } else {
    GTEST_SKIP() << "no raw sockets here";
  }
}

TEST(ServiceChecks, AHostAnswersAndAnAddressWithoutARouteDoesNot) {
  ClusterConfig config;
  config.provider = cluster_config::Provider::kVerbs;
  config.nodes = {{.id = 1, .address = "127.0.0.1"}};
  if (echo("127.0.0.1", 1000) == Echo::kNotAllowed) {
    EXPECT_FALSE(any_bad(check_services(config)));
    GTEST_SKIP() << "this user may not ping";
  }
  EXPECT_FALSE(any_bad(check_services(config)));
  config.nodes.front().address = "240.0.0.1";
  EXPECT_TRUE(any_bad(check_services(config)));
}

}  // namespace
}  // namespace granary::cluster_check
