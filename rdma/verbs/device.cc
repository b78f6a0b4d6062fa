#include "rdma/verbs/device.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace granary::rdma::verbs {
namespace {

constexpr std::uint32_t kGreatestOperation = 1u << 30;
constexpr std::uint32_t kGreatestReadDepth = 128;
constexpr std::uint32_t kMost = 4096;

Status unavailable(std::string message) { return Status(StatusCode::kUnavailable, std::move(message)); }

std::string names(std::span<const DeviceFacts> devices) {
  std::string text;
  for (const DeviceFacts& device : devices) text += (text.empty() ? "" : ", ") + device.name;
  return text;
}

Status check_options(const VerbsOptions& options) {
  const auto outside = [](std::string_view option, std::uint32_t value, std::uint32_t least) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} is {}; it may be {} to {}", option, value, least, kMost));
  };
  if (options.outstanding < 2 || options.outstanding > kMost) return outside("outstanding", options.outstanding, 2);
  if (options.connections < 1 || options.connections > kMost) return outside("connections", options.connections, 1);
  return {};
}

/// Returns how many operations of a connection may be outstanding.
std::uint32_t outstanding_of(const DeviceFacts& device, const VerbsOptions& options) {
  return std::min(options.outstanding, device.queue_length);
}

/// Returns whether a completion queue of the device has a place for each operation of each connection.
Status check_completion_queue(const DeviceFacts& device, const VerbsOptions& options) {
  const std::uint32_t outstanding = outstanding_of(device, options);
  const std::uint32_t connections = device.completion_queue_length / outstanding;
  if (connections >= options.connections) return {};
  return unavailable(
      fmt::format("device {} has completion queues of at most {} places (max_cqe), enough for {} connections of {} "
                  "operations; {} are needed, one to each node: take another device, or fewer nodes",
                  device.name, device.completion_queue_length, connections, outstanding, options.connections));
}

Status check_device(const DeviceFacts& device, const VerbsOptions& options) {
  if (!device.trouble.empty()) return unavailable(fmt::format("device {}: {}", device.name, device.trouble));
  if (!device.atomics) {
    return unavailable(
        fmt::format("device {} has no remote atomics (atomic_cap is none, as with iWARP), by which records are "
                    "locked; take another device",
                    device.name));
  }
  if (device.reads_out == 0 || device.reads_in == 0 || device.queue_length < 2) {
    return unavailable(fmt::format("device {} allows no outstanding READs; take another device", device.name));
  }
  return check_completion_queue(device, options);
}

/// Reads an address. An IPv4 address becomes the IPv6 one that stands for it, as GIDs have it. Returns none if the text
/// is no address.
std::optional<in6_addr> read_address(const std::string& text) {
  in_addr four{};
  in6_addr address{};
  const std::string form = ::inet_pton(AF_INET, text.c_str(), &four) == 1 ? "::ffff:" + text : text;
  if (::inet_pton(AF_INET6, form.c_str(), &address) != 1) return std::nullopt;
  return address;
}

/// Whether the GID has this address, which the user may have written in another form than the device.
bool has_address(const GidFacts& gid, const std::string& text) {
  const std::optional<in6_addr> own = read_address(gid.address), wanted = read_address(text);
  return own && wanted && std::memcmp(&*own, &*wanted, sizeof *own) == 0;
}

/// Returns the address by which rdma_cm finds this port.
Result<std::string> choose_address(const DeviceFacts& device, const PortFacts& port, const VerbsOptions& options) {
  const std::string place = fmt::format("device {} port {}", device.name, port.number);
  if (port.infiniband) {
    if (!options.address.empty()) return options.address;
    return unavailable(place + " is InfiniBand: give the IP address of its IPoIB device");
  }
  for (const GidFacts& gid : port.gids) {
    const bool fits = options.gid_index >= 0 ? gid.index == options.gid_index
                                             : options.address.empty() || has_address(gid, options.address);
    if (fits && gid.roce_v2 && !gid.address.empty()) {
      if (options.address.empty() || has_address(gid, options.address)) return gid.address;
      return unavailable(
          fmt::format("{}: GID {} is {}, not {}; give one of the two", place, gid.index, gid.address, options.address));
    }
  }
  if (options.gid_index >= 0) {
    return unavailable(
        fmt::format("{} has no GID {} of RoCE version 2 with an IP address; see "
                    "/sys/class/infiniband/{}/ports/{}/gids, or leave the choice open",
                    place, options.gid_index, device.name, port.number));
  }
  if (!options.address.empty()) return unavailable(fmt::format("{} has not the IP address {}", place, options.address));
  return unavailable(place + " has no GID of RoCE version 2 with an IP address: give its network device one");
}

Result<DeviceChoice> choose_port(const DeviceFacts& device, const VerbsOptions& options) {
  if (const Status status = check_device(device, options); !status.ok()) return status;
  Status trouble = unavailable(fmt::format("device {} has no port {}", device.name, options.port));
  for (const PortFacts& port : device.ports) {
    if (options.port != 0 && port.number != options.port) continue;
    if (!port.active) {
      trouble = unavailable(fmt::format("device {} port {} is down: check the cable, and that its network device is up",
                                        device.name, port.number));
      continue;
    }
    const Result<std::string> address = choose_address(device, port, options);
    if (!address.ok()) {
      trouble = address.status();
      continue;
    }
    return DeviceChoice{
        .device = device.name,
        .port = port.number,
        .address = *address,
        .region_bytes = device.region_bytes,
        .reads_out = static_cast<std::uint8_t>(std::min(device.reads_out, kGreatestReadDepth)),
        .reads_in = static_cast<std::uint8_t>(std::min(device.reads_in, kGreatestReadDepth)),
        .outstanding = outstanding_of(device, options),
        .connections = options.connections,
        .operation_bytes = std::min(port.message_bytes, kGreatestOperation) & ~7u,
    };
  }
  return trouble;
}

}  // namespace

Result<DeviceChoice> choose_device(std::span<const DeviceFacts> devices, const VerbsOptions& options) {
  if (const Status status = check_options(options); !status.ok()) return status;
  if (devices.empty()) {
    return unavailable(
        "this machine has no RDMA device: load the driver of the card, or set Soft-RoCE up (docs/rdma.md)");
  }
  Status trouble = Status(StatusCode::kNotFound, fmt::format("there is no RDMA device '{}'; this machine has {}",
                                                             options.device, names(devices)));
  for (const DeviceFacts& device : devices) {
    if (!options.device.empty() && device.name != options.device) continue;
    Result<DeviceChoice> choice = choose_port(device, options);
    if (choice.ok()) return choice;
    trouble = choice.status();
  }
  return trouble;
}

}  // namespace granary::rdma::verbs
