#include "cluster_config/parse.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cluster_config/checks.h"
#include "cluster_config/section.h"

namespace granary::cluster_config {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint32_t kMostCpus = 4096;
/// A socket's path has 107 characters, of which a node's name takes some.
constexpr std::size_t kLongestRunDirectory = 90;

/// One of those that have a row.
template <std::size_t... Rows>
Provider read_provider(Section& section, std::index_sequence<Rows...>) {
  return section.choice("provider", kProviders[Rows].provider...);
}

class Parser {
 public:
  Parser(std::string file, std::string folder, const toml::table& root, Problems& problems)
      : folder_(std::move(folder)),
        root_(root),
        problems_(problems) {
    config_.file = std::move(file);
  }

  ClusterConfig run() {
    read_cluster();
    read_membership();
    read_clock();
    read_nodes();
    complain_of_unknown("the file", root_, {"cluster", "membership", "clock", "defaults", "node"}, problems_);
    return std::move(config_);
  }

 private:
  /// A table of the file; an empty one if it is not there.
  const toml::table& table(const char* key);
  std::string path(Section& section, const char* key);
  std::string absolute(const std::string& path) const {
    return path.empty() ? path : (std::filesystem::path(folder_) / path).lexically_normal().string();
  }
  void read_cluster();
  void read_membership();
  void read_clock();
  void read_nodes();
  NodeConfig read_node(Section& section);
  std::string node_directory(Section& section, const char* key, std::uint16_t id);
  std::vector<std::uint32_t> read_cpus(Section& section);

  const std::string folder_;
  const toml::table& root_;
  Problems& problems_;
  const toml::table empty_;
  ClusterConfig config_;
};

const toml::table& Parser::table(const char* key) {
  const toml::node* const value = root_.get(key);
  if (value == nullptr) return empty_;
  if (const toml::table* const found = value->as_table()) return *found;
  problems_.add(static_cast<int>(value->source().begin.line), fmt::format("{} is no section; write [{}]", key, key));
  return empty_;
}

std::string Parser::path(Section& section, const char* key) { return absolute(section.text(key)); }

void Parser::read_cluster() {
  if (!root_.contains("cluster")) {
    problems_.add(1, "there is no section [cluster]; docs/cluster-file.md has an example");
    return;
  }
  Section section("[cluster]", table("cluster"), problems_);
  section.require("name", "the cluster's name");
  config_.name = section.text("name");
  const bool plain = std::all_of(config_.name.begin(), config_.name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!plain || config_.name.size() > 64)
    section.complain("name", ": expected up to 64 letters, digits, '-', '_', '.'");
  config_.provider = read_provider(section, std::make_index_sequence<kProviders.size()>());
  config_.directories = section.choice("directories", Directories::kByHost, Directories::kApart);
  config_.swap_stores = section.choice("swap_stores", SwapStores::kRefused, SwapStores::kTolerated);
  section.require("run_directory", "a directory for the nodes' sockets and locks, private to their user");
  config_.run_directory = path(section, "run_directory");
  if (config_.run_directory.size() > kLongestRunDirectory) {
    section.complain("run_directory", fmt::format(" is '{}...': expected a path of at most {} bytes",
                                                  config_.run_directory.substr(0, 40), kLongestRunDirectory));
  }
  config_.key_file = path(section, "key_file");
  if (traits(config_.provider).needs_key) section.require("key_file", "what 'granary cluster key FILE' makes");
  config_.epoch_ms = static_cast<std::uint32_t>(section.integer("epoch_ms", {1, 10'000}, 40));
  config_.snapshot_epochs = static_cast<std::uint32_t>(section.integer("snapshot_epochs", {1, 10'000}, 25));
  config_.lease_us = static_cast<std::uint32_t>(section.integer("lease_us", {20, 1'000'000}, 400));
  config_.release = section.choice("release", ReleaseKind::kDurable, ReleaseKind::kCommit);
  section.close();
}

void Parser::read_membership() {
  Section section("[membership]", table("membership"), problems_);
  MembershipConfig& membership = config_.membership;
  membership.kind = section.choice("kind", MembershipKind::kLocal, MembershipKind::kZookeeper);
  membership.servers = section.texts("servers");
  membership.chroot = section.text("chroot");
  membership.user = section.text("user");
  membership.password_file = path(section, "password_file");
  membership.session_timeout_ms =
      static_cast<std::uint32_t>(section.integer("session_timeout_ms", {200, 60'000}, 2000));
  if (membership.kind == MembershipKind::kZookeeper) {
    section.require("servers", "ZooKeeper's servers, as [\"10.0.0.1:2181\"]");
    if (section.has("servers") && membership.servers.empty()) section.complain("servers", ": expected at least one");
    for (const std::string& server : membership.servers) {
      if (!is_place(server)) section.complain("servers", fmt::format(": '{}': expected host:port", server));
    }
    if (const std::string* const twice = named_twice(membership.servers))
      section.complain("servers", fmt::format(": '{}' is named twice", *twice));
    if (!membership.chroot.empty() && membership.chroot.front() != '/') section.complain("chroot", ": begins with '/'");
    if (membership.user.empty() != membership.password_file.empty()) {
      section.complain(membership.user.empty() ? "password_file" : "user",
                       ": user and password_file go together; add the other");
    }
  }
  section.close();
}

void Parser::read_clock() {
  Section section("[clock]", table("clock"), problems_);
  config_.clock.kind = section.choice("kind", ClockKind::kHost, ClockKind::kPtp, ClockKind::kNone);
  config_.clock.pmc_socket = path(section, "pmc_socket");
  if (config_.clock.pmc_socket.empty()) config_.clock.pmc_socket = "/var/run/ptp4l";
  config_.clock.domain = static_cast<std::uint8_t>(section.integer("domain", {0, 127}, 0));
  config_.clock.grandmaster = section.text("grandmaster");
  if (config_.clock.kind == ClockKind::kPtp)
    section.require("grandmaster", "the identity of the clock that all nodes follow, as \"001122.fffe.334455\"");
  config_.clock.max_error_us = static_cast<std::uint32_t>(section.integer("max_error_us", {1, 1'000'000}, 50));
  section.close();
}

void Parser::read_nodes() {
  const toml::node* const value = root_.get("node");
  const toml::array* const list = value != nullptr ? value->as_array() : nullptr;
  if (value != nullptr && (list == nullptr || !list->is_homogeneous(toml::node_type::table))) {
    problems_.add(static_cast<int>(value->source().begin.line), "node is no list of tables; write [[node]] above each");
    return;
  }
  if (list == nullptr) {
    problems_.add(1, "there are no nodes; add a section [[node]] for each");
    return;
  }
  if (list->size() > kMostNodes) {
    problems_.add(static_cast<int>((*list)[kMostNodes].source().begin.line),
                  fmt::format("there are {} nodes; expected 1 to {}", list->size(), kMostNodes));
    return;
  }
  const toml::table& defaults = table("defaults");
  std::vector<std::string> known;
  for (const toml::node& one : *list) {
    Section section("this node", *one.as_table(), problems_, &defaults);
    config_.nodes.push_back(read_node(section));
    section.close();
    known = section.known();
  }
  complain_of_unknown("[defaults]", defaults, known, problems_);
  check_nodes(config_, problems_);
  std::sort(config_.nodes.begin(), config_.nodes.end(),
            [](const NodeConfig& a, const NodeConfig& b) { return a.id < b.id; });
}

NodeConfig Parser::read_node(Section& section) {
  NodeConfig node;
  node.line = section.line();
  section.require("id", fmt::format("a number from 1 to {}", kGreatestNodeId));
  node.id = static_cast<std::uint16_t>(section.integer("id", {1, kGreatestNodeId}, 0));
  if (section.is_default("id")) section.complain("id", ": each node has its own; move it to the nodes");
  node.host = section.text("host", "localhost");
  if (node.host.empty())
    section.complain("host", " = \"\": expected the name of the node's machine, or none of this key");
  node.address = section.text("address");
  node.port = static_cast<std::uint16_t>(section.integer("port", {1, 65'535}, 18'515));
  node.device = section.text("device");
  node.device_port = static_cast<std::uint8_t>(section.integer("device_port", {1, 255}, 0));
  if (traits(config_.provider).addresses) section.require("address", "the IP address where it listens");
  if (!node.address.empty() && !is_own_address(node.address))
    section.complain("address", fmt::format(" = \"{}\": expected the IP address of one host", node.address));
  node.cpus = read_cpus(section);
  node.numa_node = static_cast<int>(section.integer("numa_node", {0, 1023}, ~std::uint64_t{0}));
  node.workers = static_cast<std::uint32_t>(section.integer("workers", {1, kMostWorkers}, 1));
  node.memory_bytes = section.size("memory", {64 * kMiB, std::uint64_t{1} << 46}, 1024 * kMiB);
  node.location_cache_bytes =
      section.size("location_cache", {kMiB, std::uint64_t{1} << 40}, NodeConfig().location_cache_bytes);
  node.data_directory = node_directory(section, "data_directory", node.id);
  node.reliable_directory = node_directory(section, "reliable_directory", node.id);
  for (const std::string& one : section.texts("log_directories")) {
    const std::string full = absolute(one);
    node.log_directories.push_back(section.is_default("log_directories") ? fmt::format("{}/node-{}", full, node.id)
                                                                         : full);
  }
  return node;
}

/// A directory of the defaults is that above all nodes' own.
std::string Parser::node_directory(Section& section, const char* key, std::uint16_t id) {
  const std::string full = path(section, key);
  return section.is_default(key) ? fmt::format("{}/node-{}", full, id) : full;
}

/// "0-3,8".
std::vector<std::uint32_t> Parser::read_cpus(Section& section) {
  const std::string text = section.text("cpus");
  std::vector<std::uint32_t> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() && value < kMostCpus;
  };
  while (at != end) {
    std::uint32_t first = 0;
    bool good = number(first);
    std::uint32_t last = first;
    if (good && at != end && *at == '-') good = (++at, number(last)) && first <= last;
    if (good && at != end) good = *at++ == ',' && at != end;
    if (!good) {
      section.complain("cpus", fmt::format(" = \"{}\": expected numbers from 0 to {}, as \"0-3,8\"", text.substr(0, 40),
                                           kMostCpus - 1));
      return {};
    }
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

ClusterConfig parse(std::string_view text, const std::string& file, const std::string& folder, Problems& problems) {
  const toml::parse_result result = toml::parse(text);
  if (result.failed()) {
    problems.add(static_cast<int>(result.error().source().begin.line), std::string(result.error().description()));
    return {};
  }
  return Parser(file, folder, result.table(), problems).run();
}

}  // namespace granary::cluster_config
