#include "cluster_config/checks.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "cluster_config/http_address.h"

namespace granary::cluster_config {
namespace {

/// Notes values of which each may belong to one node only.
class Owners {
 public:
  Owners(const char* what, Problems& problems) : what_(what), problems_(problems) {}

  void take(const std::string& thing, const NodeConfig& node) {
    const auto [place, taken] = owners_.emplace(thing, &node);
    if (taken) return;
    problems_.add(node.line, fmt::format("{} {} belongs to the node of line {}, too; give each node its own", what_,
                                         thing, place->second->line));
  }

 private:
  const char* const what_;
  Problems& problems_;
  std::map<std::string, const NodeConfig*> owners_;
};

void check_directories(const NodeConfig& node, Owners& owners) {
  const auto take = [&](const std::string& directory) {
    if (!directory.empty()) owners.take(fmt::format("{} on {}", directory, node.host), node);
  };
  take(node.data_directory);
  take(node.reliable_directory);
  for (const std::string& directory : node.log_directories) take(directory);
}

/// Says why a kind serves one host only, and what to do about it.
struct OfOneHost {
  std::string what;
  std::string mend;
};

/// Returns text that names the providers that reach other hosts, such as "use provider "verbs"".
std::string other_providers() {
  std::string mend;
  for (const ProviderTraits& row : kProviders) {
    if (!row.one_host) mend += fmt::format("{}\"{}\"", mend.empty() ? "use provider " : " or ", row.name);
  }
  return mend;
}

std::vector<OfOneHost> of_one_host(const ClusterConfig& config) {
  if (traits(config.provider).one_host)
    return {{fmt::format("provider \"{}\"", name(config.provider)), other_providers()}};
  std::vector<OfOneHost> found;
  if (config.membership.kind == MembershipKind::kLocal)
    found.push_back({"membership \"local\"", "use membership \"zookeeper\""});
  if (config.clock.kind == ClockKind::kHost)
    found.push_back({"clock \"host\"", "use clock \"ptp\", or \"none\", which does without leases"});
  return found;
}

void check_hosts(const ClusterConfig& config, Problems& problems) {
  const NodeConfig& first = config.nodes.front();
  for (const NodeConfig& node : config.nodes) {
    if (node.host == first.host) continue;
    for (const OfOneHost& each : of_one_host(config)) {
      problems.add(node.line,
                   fmt::format("this node is on host '{}', that of line {} on '{}', but {} serves one host; {}",
                               node.host, first.line, first.host, each.what, each.mend));
    }
  }
}

}  // namespace

void check_nodes(const ClusterConfig& config, Problems& problems) {
  Owners ids("id", problems), places("the address", problems), directories("the directory", problems),
      http("the address for http", problems);
  for (const NodeConfig& node : config.nodes) {
    if (node.id != 0) ids.take(std::to_string(node.id), node);
    if (!node.address.empty()) places.take(fmt::format("{} port {}", node.address, node.port), node);
    check_directories(node, directories);
    if (const auto address = http_address_of(node.http); address)
      http.take(fmt::format("{} port {} of {}", address->ip, address->port, node.host), node);
  }
  if (!config.nodes.empty()) check_hosts(config, problems);
}

bool is_place(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || last != end || port == 0) return false;
  const std::string host = text.substr(0, colon);
  if (host.find_first_of("[]") != host.npos) {
    in6_addr six{};
    return host.front() == '[' && host.back() == ']' &&
           ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1;
  }
  const bool number =
      host.find_first_not_of("0123456789.") == std::string::npos;  // the host is no name, so it has to be an address
  in_addr four{};
  return !number || ::inet_pton(AF_INET, host.c_str(), &four) == 1;
}

const std::string* named_twice(const std::vector<std::string>& list) {
  std::set<std::string_view> seen;
  for (const std::string& one : list) {
    if (!seen.insert(one).second) return &one;
  }
  return nullptr;
}

bool is_clock_identity(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxx.xxxx.xxxxxx";
  return std::ranges::equal(text, kForm,
                            [](unsigned char c, char form) { return form == '.' ? c == '.' : std::isxdigit(c) != 0; });
}

bool is_own_address(const std::string& text) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
    const std::uint32_t number = ntohl(four.s_addr);
    return number != INADDR_ANY && number < 0xe0000000;  // neither multicast nor broadcast
  }
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&six) &&
         !IN6_IS_ADDR_MULTICAST(&six);
}

}  // namespace granary::cluster_config
