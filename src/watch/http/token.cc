#include "src/watch/http/token.h"

#include <arpa/inet.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace granary::http {
namespace {

using Digest = std::array<unsigned char, crypto_generichash_BYTES>;

Digest digest_of(std::string_view text) {
  Digest digest{};
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     nullptr, 0);
  return digest;
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool shows_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size() || !equal_but_for_case(authorization.substr(0, kScheme.size()), kScheme))
    return false;
  std::string_view shown = authorization.substr(kScheme.size());
  while (shown.starts_with(' ')) shown.remove_prefix(1);
  // Digests have one length, so that the time of the comparison does not tell the token's length.
  const Digest expected = digest_of(token);
  const Digest found = digest_of(shown);
  return sodium_memcmp(expected.data(), found.data(), expected.size()) == 0;
}

bool names_address(std::string_view host) {
  in6_addr address{};
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view port = host.substr(end + 1);
    if (!port.empty() && !(port.front() == ':' && is_number(port.substr(1)))) return false;
    return ::inet_pton(AF_INET6, std::string(host.substr(1, end - 1)).c_str(), &address) == 1;
  }
  if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    if (!is_number(host.substr(colon + 1))) return false;
    host = host.substr(0, colon);
  }
  return equal_but_for_case(host, "localhost") || ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

}  // namespace granary::http
