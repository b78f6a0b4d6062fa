#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "cluster_config/http_address.h"
#include "src/cli/cluster_check/socket.h"
#include "src/cli/doctor/node_checks.h"

namespace granary::doctor {
namespace {

using cluster_check::Finding;
using cluster_check::Findings;
using cluster_check::Verdict;
using cluster_config::HttpAddress;

/// Returns 0 if a process can listen at the address, or the errno of the failure.
int listen_error(const HttpAddress& address) {
  const cluster_check::AddressList at = cluster_check::look_up(address.ip, std::to_string(address.port).c_str());
  if (at == nullptr) return EADDRNOTAVAIL;
  const cluster_check::Socket socket(at->ai_family, SOCK_STREAM, 0);
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 && ::listen(socket.get(), 1) == 0 ? 0 : errno;
}

Finding check_port(std::uint16_t node, const HttpAddress& address) {
  Finding finding{.subject = fmt::format("http of {}", node), .found = fmt::format("{} is free", address.text())};
  const int error = listen_error(address);
  if (error == 0) return finding;
  finding.found = fmt::format("{}: {}", address.text(), std::strerror(error));
  if (error == EADDRINUSE) {
    finding.verdict = Verdict::kWarning;
    finding.mend =
        fmt::format("nothing if node {} runs already; ss -ltnp 'sport = :{}' tells who has it", node, address.port);
  } else {
    finding.verdict = Verdict::kBad;
    finding.mend = "correct 'http'";
  }
  return finding;
}

}  // namespace

Findings check_ports(std::span<const cluster_config::NodeConfig> here) {
  Findings findings;
  for (const cluster_config::NodeConfig& node : here) {
    const std::optional<HttpAddress> address = cluster_config::http_address_of(node.http);
    if (address) findings.push_back(check_port(node.id, *address));
  }
  return findings;
}

}  // namespace granary::doctor
