#include "src/cli/cluster_check/service_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "cluster_config/clock/open_source.h"
#include "src/cli/cluster_check/echo.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

constexpr int kPatience_ms = 1000;
constexpr const char* kZookeeper = "ZooKeeper";

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

/// Asks for the bound of the clock's error until ptp4l has answered, which takes a moment, or time is up.
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

/// Returns "" if a ZooKeeper server answers at the address and serves; otherwise what is wrong.
std::string zookeeper_trouble(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);  // as of "[::1]:2181"
  const auto answer = ask_server(host, server.substr(colon + 1), "srvr", kPatience_ms);
  if (!answer.ok()) return answer.status().message();
  if (answer->starts_with("Zookeeper version")) return "";
  return answer->starts_with("This ZooKeeper") ? "it does not serve requests yet" : "it is no ZooKeeper";
}

Finding check_zookeeper(const std::string& server) {
  const std::string trouble = zookeeper_trouble(server);
  if (trouble.empty()) return {.subject = kZookeeper, .found = fmt::format("{} serves", server)};
  return {.subject = kZookeeper,
          .verdict = Verdict::kWarning,
          .found = fmt::format("{} does not serve: {}", server, trouble),
          .mend = "start this server, or correct 'servers'"};
}

/// Judges the findings about single servers. Returns nothing if a majority of them serves, or if there are none.
Findings check_majority(std::span<const Finding> findings) {
  const auto is_server = [](const Finding& one) { return one.subject == kZookeeper; };
  const auto serves = [&](const Finding& one) { return is_server(one) && one.verdict == Verdict::kGood; };
  const auto all = std::ranges::count_if(findings, is_server), serving = std::ranges::count_if(findings, serves);
  if (all == 0 || serving * 2 > all) return {};
  return {{.subject = kZookeeper,
           .verdict = Verdict::kBad,
           .found = fmt::format("{} of {} servers serve, which is no majority", serving, all),
           .mend = "start more of them"}};
}

}  // namespace

Findings check_services(const ClusterConfig& config) {
  std::vector<std::future<Finding>> asked;
  const auto ask = [&](auto check) { asked.push_back(std::async(std::launch::async, std::move(check))); };
  ask([&] { return check_clock(config); });
  if (traits(config.provider).addresses) {
    for (const NodeConfig& node : config.nodes) ask([&node] { return check_host(node); });
  }
  if (config.membership.kind == cluster_config::MembershipKind::kZookeeper) {
    for (const std::string& server : config.membership.servers) ask([&server] { return check_zookeeper(server); });
  }
  Findings findings;
  for (std::future<Finding>& answer : asked) findings.push_back(answer.get());
  append(findings, check_majority(findings));
  return findings;
}

std::string why_no_membership(std::span<const Finding> services) {
  const auto found = std::ranges::find_if(
      services, [](const Finding& one) { return one.subject == kZookeeper && one.verdict == Verdict::kBad; });
  return found == services.end() ? std::string() : found->found;
}

}  // namespace granary::cluster_check
