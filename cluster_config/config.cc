#include "cluster_config/config.h"

#include <algorithm>

#include <fmt/format.h>

#include "cluster_config/keys.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace granary::cluster_config {

const NodeConfig* ClusterConfig::find(std::uint16_t id) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NodeConfig& node) { return node.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

namespace {

/// Returns the text with its size in front, so that no two lists of texts make the same text.
std::string counted(const std::string& text) { return fmt::format("{}:{}", text.size(), text); }

}  // namespace

std::uint64_t fingerprint(const ClusterConfig& config) {
  const MembershipConfig& membership = config.membership;
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {}", counted(config.name), name(config.provider), config.epoch_ms,
      config.snapshot_epochs, config.lease_us, option::word_of<&ClusterConfig::release>(config),
      option::word_of<&ClusterConfig::directories>(config), config.key_file.empty() ? "open" : "keyed",
      option::word_of<&MembershipConfig::kind>(membership), counted(membership.chroot), membership.session_timeout_ms,
      option::word_of<&ClockConfig::kind>(config.clock), counted(config.clock.grandmaster), config.clock.max_error_us);
  for (const NodeConfig& node : config.nodes) {
    text += fmt::format(" | {} {} {} {} {} {}", node.id, counted(node.host), counted(node.address), node.port,
                        node.workers, node.data_directory.empty() ? "forgets" : "keeps");
  }
  return XXH3_64bits(text.data(), text.size());
}

bool has_logs(const ClusterConfig& config) {
  return std::any_of(config.nodes.begin(), config.nodes.end(),
                     [](const NodeConfig& node) { return !node.data_directory.empty(); });
}

}  // namespace granary::cluster_config
