#pragma once
// The address where a node tells of itself by HTTP, as the cluster file writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace granary::cluster_config {

struct HttpAddress {
  std::string ip;  ///< "127.0.0.1", "::1", "0.0.0.0"
  std::uint16_t port = 0;

  /// Only processes of the same host reach it.
  bool loopback() const;
  /// It stands for all addresses of the host.
  bool any() const { return ip == "0.0.0.0" || ip == "::"; }
  /// "127.0.0.1:9461", "[::1]:9461".
  std::string text() const;

  bool operator==(const HttpAddress&) const = default;
};

/// Writes an address of the family in its usual form, so that two ways to write it become the same text. Returns none
/// if the text is something else.
std::optional<std::string> usual_form(int family, const std::string& text);

/// Reads "127.0.0.1:9461", "[::1]:9461", or "9461", which is a port of 127.0.0.1. None if the text is something else,
/// or the port is 0.
std::optional<HttpAddress> http_address_of(std::string_view text);

struct NodeConfig;

/// Where the node is asked by other processes, of its host or of others; none if the file gives it no address.
std::optional<HttpAddress> http_asked_at(const NodeConfig& node);

}  // namespace granary::cluster_config
