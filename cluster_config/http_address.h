#pragma once
// Holds the address where a node serves its status by HTTP, as the cluster file writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace granary::cluster_config {

struct HttpAddress {
  std::string ip;  ///< "127.0.0.1", "::1", "0.0.0.0"
  std::uint16_t port = 0;

  /// Whether only processes of the same host reach it.
  bool loopback() const;
  /// Whether it stands for all addresses of the host.
  bool any() const { return ip == "0.0.0.0" || ip == "::"; }
  /// Returns the address as text, such as "127.0.0.1:9461" or "[::1]:9461".
  std::string text() const;

  bool operator==(const HttpAddress&) const = default;
};

/// Returns an address of the family in its usual form, so that two ways to write it become the same text. Returns none
/// if the text is no such address.
std::optional<std::string> usual_form(int family, const std::string& text);

/// Reads an address such as "127.0.0.1:9461" or "[::1]:9461". "9461" is a port of 127.0.0.1. Returns none if the text
/// is something else, or the port is 0.
std::optional<HttpAddress> http_address_of(std::string_view text);

struct NodeConfig;

/// Returns where other processes, of the node's host or of others, can ask the node. Returns none if the file gives it
/// no address.
std::optional<HttpAddress> http_asked_at(const NodeConfig& node);

}  // namespace granary::cluster_config
