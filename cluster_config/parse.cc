#include "cluster_config/parse.h"

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cluster_config/checks.h"
#include "cluster_config/http_address.h"
#include "cluster_config/keys.h"
#include "cluster_config/section.h"

namespace granary::cluster_config {
namespace {

/// The path of a socket has at most 107 characters, of which a node's name takes some.
constexpr std::size_t kLongestRunDirectory = 90;

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
  /// Returns a table of the file, or an empty one if it is not there.
  const toml::table& table(const char* key);
  void read_cluster();
  void read_membership();
  void read_clock();
  void read_nodes();
  NodeConfig read_node(Section& section);
  /// Complains of keys that only sections of `kind` have. Precondition: `section` is of another kind, or of no kind and
  /// so of `here`.
  static void refuse_keys_of(const char* kind, const std::string& here, std::initializer_list<const char*> keys,
                             Section& section);

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

void Parser::read_cluster() {
  if (!root_.contains("cluster")) {
    problems_.add(1, "there is no section [cluster]; docs/cluster-file.md has an example");
    return;
  }
  Section section("[cluster]", folder_, table("cluster"), problems_);
  section.read(config_);
  section.require<&ClusterConfig::name>();
  const bool plain = std::all_of(config_.name.begin(), config_.name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!plain || config_.name.size() > 64)
    section.complain("name", ": expected up to 64 letters, digits, '-', '_', '.'");
  section.require<&ClusterConfig::run_directory>();
  if (config_.run_directory.size() > kLongestRunDirectory) {
    section.complain("run_directory", fmt::format(" is '{}...': expected a path of at most {} bytes",
                                                  config_.run_directory.substr(0, 40), kLongestRunDirectory));
  }
  if (traits(config_.provider).needs_key) section.require<&ClusterConfig::key_file>();
  section.close();
}

void Parser::refuse_keys_of(const char* kind, const std::string& here, std::initializer_list<const char*> keys,
                            Section& section) {
  for (const char* key : keys) {
    if (!section.has(key)) continue;
    section.complain(key, fmt::format(" is for kind = \"{}\", and the kind here is \"{}\"{}; expected both or neither",
                                      kind, here, section.has("kind") ? "" : ", since no other is given"));
  }
}

void Parser::read_membership() {
  Section section("[membership]", folder_, table("membership"), problems_);
  MembershipConfig& membership = config_.membership;
  section.read(membership);
  if (membership.kind == MembershipKind::kZookeeper) {
    section.require<&MembershipConfig::servers>();
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
  } else if (!section.mistaken("kind")) {
    refuse_keys_of("zookeeper", option::text_of(option::row<&MembershipConfig::kind>(), membership.kind),
                   {"servers", "chroot", "user", "password_file"}, section);
  }
  section.close();
}

void Parser::read_clock() {
  Section section("[clock]", folder_, table("clock"), problems_);
  ClockConfig& clock = config_.clock;
  section.read(clock);
  if (clock.kind == ClockKind::kPtp) {
    section.require<&ClockConfig::grandmaster>();
    if (section.has("grandmaster") && !is_clock_identity(clock.grandmaster)) {
      section.complain("grandmaster", fmt::format(": '{}': expected a clock's identity like 001122.fffe.334455, which "
                                                  "\"pmc -u -b 0 'GET TIME_STATUS_NP'\" shows as gmIdentity",
                                                  clock.grandmaster));
    }
  } else if (!section.mistaken("kind")) {
    refuse_keys_of("ptp", option::text_of(option::row<&ClockConfig::kind>(), clock.kind),
                   {"pmc_socket", "domain", "grandmaster", "max_error_us"}, section);
  }
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
    Section section("this node", folder_, *one.as_table(), problems_, &defaults);
    config_.nodes.push_back(read_node(section));
    section.close();
    known = section.known();
  }
  complain_of_unknown("[defaults]", defaults, known, problems_);
  check_nodes(config_, problems_);
  std::sort(config_.nodes.begin(), config_.nodes.end(),
            [](const NodeConfig& a, const NodeConfig& b) { return a.id < b.id; });
}

/// Checks that a token is set if the node listens at an address of the network.
void check_http(Section& section, const NodeConfig& node) {
  if (node.http.empty()) return;
  const std::optional<HttpAddress> address = http_address_of(node.http);
  if (!address) {
    section.complain("http", fmt::format(" = \"{}\": expected an IP address and a port, as \"127.0.0.1:9461\", "
                                         "\"[::1]:9461\", or \"9461\" for a port of this host only",
                                         node.http));
  } else if (!address->loopback() && node.http_token_file.empty()) {
    section.complain("http", fmt::format(" = \"{}\" is reached by other hosts, so whoever asks has to show a token: "
                                         "make one by 'granary cluster key FILE', and name it by http_token_file",
                                         node.http));
  }
}

NodeConfig Parser::read_node(Section& section) {
  NodeConfig node;
  node.line = section.line();
  section.read(node);
  section.require<&NodeConfig::id>();
  if (section.is_default("id")) section.complain("id", ": each node has its own; move it to the nodes");
  if (traits(config_.provider).addresses) section.require<&NodeConfig::address>();
  if (!node.address.empty() && !is_own_address(node.address))
    section.complain("address", fmt::format(" = \"{}\": expected the IP address of one host", node.address));
  for (const int family : {AF_INET, AF_INET6}) {  // devices and network interfaces tell theirs in this form
    if (auto usual = usual_form(family, node.address)) node.address = std::move(*usual);
  }
  check_http(section, node);
  // A directory in the defaults is the parent of all nodes' own directories.
  const std::string own = fmt::format("/node-{}", node.id);
  if (section.is_default("data_directory")) node.data_directory += own;
  if (section.is_default("reliable_directory")) node.reliable_directory += own;
  if (section.is_default("log_directories")) {
    for (std::string& directory : node.log_directories) directory += own;
  }
  return node;
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
