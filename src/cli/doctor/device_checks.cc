#include <algorithm>

#include <fmt/format.h>

#include "src/cli/doctor/host_checks.h"

namespace granary::doctor {
namespace {

using rdma::verbs::DeviceFacts;
using rdma::verbs::GidFacts;
using rdma::verbs::PortFacts;

constexpr std::uint32_t kBestMtu = 4096;

/// Returns the address of the first GID by which a node can be reached over RoCE version 2; empty if there is none.
std::string roce_address(const PortFacts& port) {
  const auto found = std::find_if(port.gids.begin(), port.gids.end(),
                                  [](const GidFacts& gid) { return gid.roce_v2 && !gid.address.empty(); });
  return found == port.gids.end() ? "" : found->address;
}

Finding check_port(const DeviceFacts& device, const PortFacts& port) {
  const std::string address = roce_address(port);
  Finding finding{.subject = fmt::format("{} port {}", device.name, port.number),
                  .found = fmt::format("{}, {}, MTU {}{}{}", port.active ? "active" : "not active",
                                       port.infiniband ? "InfiniBand" : "Ethernet", port.mtu_bytes,
                                       address.empty() ? "" : ", RoCE v2 GID of ", address)};
  if (!port.active) {
    finding.verdict = Verdict::kWarning;
    finding.mend = "see cable and switch, and 'ip link set DEVICE up'; InfiniBand needs a subnet manager: ibstat";
  } else if (!port.infiniband && address.empty()) {
    finding.verdict = Verdict::kWarning;
    finding.found += ", no RoCE v2 GID with an IP address";
    finding.mend = "ip address add ADDRESS/LENGTH dev DEVICE";
  } else if (!port.infiniband && port.mtu_bytes < kBestMtu) {
    finding.verdict = Verdict::kNote;
    finding.mend = "ip link set DEVICE mtu 4200 or more, also on the switch: fewer packets for long reads and writes";
  }
  return finding;
}

Finding check_device(const DeviceFacts& device) {
  if (!device.trouble.empty()) {
    return {.subject = device.name,
            .verdict = Verdict::kBad,
            .found = device.trouble,
            .mend = "run it as a user who may; in a container, --device=/dev/infiniband (docs/rdma.md)"};
  }
  Finding finding{.subject = device.name,
                  .found = fmt::format("{}, {} READs at once, queues of {}", device.atomics ? "atomics" : "no atomics",
                                       device.reads_out, device.queue_length)};
  if (!device.atomics) {
    finding.verdict = Verdict::kBad;
    finding.mend = "nodes lock by compare-and-swap: use a device that has it, or provider shm on one host";
  }
  return finding;
}

}  // namespace

Findings check_devices(std::span<const DeviceFacts> devices) {
  if (devices.empty()) {
    return {{.subject = "RDMA devices",
             .verdict = Verdict::kNote,
             .found = "none: nodes of one host use provider shm",
             .mend = "for several hosts: docs/rdma.md, also how to make one of an ordinary network device"}};
  }
  Findings findings;
  for (const DeviceFacts& device : devices) {
    findings.push_back(check_device(device));
    for (const PortFacts& port : device.ports) findings.push_back(check_port(device, port));
  }
  return findings;
}

}  // namespace granary::doctor
