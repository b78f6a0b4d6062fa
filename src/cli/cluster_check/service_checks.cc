#include "src/cli/cluster_check/service_checks.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cluster_config/clock/open_source.h"
#include "src/cli/cluster_check/echo.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

constexpr int kPatience_ms = 1000;

Finding check_host(const NodeConfig& node) {
  Finding finding{.subject = fmt::format("host of {}", node.id), .found = fmt::format("{} answers", node.address)};
  switch (echo(node.address, kPatience_ms)) {
    case Echo::kAnswered: break;
    case Echo::kSilent:
      finding.verdict = Verdict::kBad;
      finding.found = fmt::format("{} does not answer within a second", node.address);
      finding.mend = "see that the host runs, that the address is right, and that a firewall lets pings through";
      break;
    case Echo::kNoRoute:
      finding.verdict = Verdict::kBad;
      finding.found = fmt::format("there is no way to {} from here", node.address);
      finding.mend = "correct 'address', or the routes: ip route get " + node.address;
      break;
    case Echo::kNotAllowed:
      finding.verdict = Verdict::kWarning;
      finding.found = fmt::format("{} was not asked: this user may neither ping nor open raw sockets", node.address);
      finding.mend = "sysctl net.ipv4.ping_group_range='0 2147483647', or run it as root";
      break;
  }
  return finding;
}

/// ptp4l's answer comes a moment after the question.
cluster_config::clock::Bound ask_for_bound(cluster_config::clock::TimeSource& source) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (;;) {
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    cluster_config::clock::Bound bound = source.bound(static_cast<std::uint64_t>(passed.count()));
    if (bound.delta_us || passed > std::chrono::milliseconds(kPatience_ms)) return bound;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Finding check_clock(const ClusterConfig& config) {
  auto source = cluster_config::clock::open_source(config.clock);
  if (!source.ok()) return {.subject = "clock", .verdict = Verdict::kBad, .found = source.status().message()};
  if (config.clock.kind == cluster_config::ClockKind::kHost)
    return {.subject = "clock", .found = "one host's own; nodes agree on it"};
  if (config.clock.kind == cluster_config::ClockKind::kNone)
    return {.subject = "clock", .found = "none; transactions lock what they would lease"};
  const cluster_config::clock::Bound bound = ask_for_bound(**source);
  if (bound.delta_us)
    return {.subject = "clock", .found = fmt::format("no two nodes differ by more than {} us", *bound.delta_us)};
  return {.subject = "clock",
          .verdict = Verdict::kBad,
          .found = bound.cause + "; until then there are no leases",
          .mend = "see that ptp4l and phc2sys run and have settled (docs/clock.md)"};
}

/// "" if a server of ZooKeeper answers there and serves; otherwise what is wrong.
std::string zookeeper_trouble(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  const auto answer = ask_server(server.substr(0, colon), server.substr(colon + 1), "srvr", kPatience_ms);
  if (!answer.ok()) return answer.status().message();
  if (answer->starts_with("Zookeeper version")) return "";
  return answer->starts_with("This ZooKeeper") ? "it does not serve requests yet" : "it is no ZooKeeper";
}

Findings check_zookeeper(const ClusterConfig& config) {
  Findings findings;
  std::size_t answering = 0;
  for (const std::string& server : config.membership.servers) {
    const std::string trouble = zookeeper_trouble(server);
    if (trouble.empty()) {
      ++answering;
      findings.push_back({.subject = "ZooKeeper", .found = fmt::format("{} serves", server)});
    } else {
      findings.push_back({.subject = "ZooKeeper",
                          .verdict = Verdict::kWarning,
                          .found = fmt::format("{} does not serve: {}", server, trouble),
                          .mend = "start this server, or correct 'servers'"});
    }
  }
  if (answering * 2 <= config.membership.servers.size()) {
    findings.push_back({.subject = "ZooKeeper",
                        .verdict = Verdict::kBad,
                        .found = fmt::format("{} of {} servers serve, which is no majority", answering,
                                             config.membership.servers.size()),
                        .mend = "start more of them"});
  }
  return findings;
}

}  // namespace

Findings check_services(const ClusterConfig& config) {
  Findings findings{check_clock(config)};
  if (traits(config.provider).addresses) {
    for (const NodeConfig& node : config.nodes) findings.push_back(check_host(node));
  }
  if (config.membership.kind == cluster_config::MembershipKind::kZookeeper) append(findings, check_zookeeper(config));
  return findings;
}

}  // namespace granary::cluster_check
