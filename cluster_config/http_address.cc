#include "cluster_config/http_address.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "cluster_config/config.h"

namespace granary::cluster_config {
namespace {

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || last != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

std::optional<std::string> usual_form(int family, const std::string& text) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> usual{};
  if (::inet_pton(family, text.c_str(), &address) != 1) return std::nullopt;
  return ::inet_ntop(family, &address, usual.data(), usual.size());
}

bool HttpAddress::loopback() const { return ip.starts_with("127.") || ip == "::1"; }

std::string HttpAddress::text() const {
  return ip.find(':') == std::string::npos ? fmt::format("{}:{}", ip, port) : fmt::format("[{}]:{}", ip, port);
}

std::optional<HttpAddress> http_address_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto port = port_of(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!port) return std::nullopt;
  if (colon == std::string_view::npos) return HttpAddress{"127.0.0.1", *port};
  std::string_view ip = text.substr(0, colon);
  const bool six = ip.size() > 2 && ip.front() == '[' && ip.back() == ']';
  if (six) ip = ip.substr(1, ip.size() - 2);
  auto usual = usual_form(six ? AF_INET6 : AF_INET, std::string(ip));
  if (!usual) return std::nullopt;
  return HttpAddress{std::move(*usual), *port};
}

std::optional<HttpAddress> http_asked_at(const NodeConfig& node) {
  std::optional<HttpAddress> address = http_address_of(node.http);
  if (!address || !address->any()) return address;
  const char* const loopback = address->ip == "::" ? "::1" : "127.0.0.1";
  address->ip = node.address.empty() ? loopback : node.address;
  return address;
}

}  // namespace granary::cluster_config
