#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "rdma/verbs/device.h"

namespace granary::rdma::verbs {
namespace {

/// Returns the IP address of a GID as text; empty if it is valid only on its link.
std::string ip_address(const ibv_gid& gid) {
  in6_addr address;
  std::memcpy(&address, gid.raw, sizeof(address));
  if (IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_UNSPECIFIED(&address)) return {};
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&address)) return inet_ntop(AF_INET, gid.raw + 12, text, sizeof(text));
  return inet_ntop(AF_INET6, &address, text, sizeof(text));
}

std::vector<PortFacts> list_ports(ibv_context* context, std::uint8_t count) {
  constexpr std::size_t kMostGids = 1024;
  std::vector<ibv_gid_entry> gids(kMostGids);
  const ssize_t found = std::max<ssize_t>(0, ibv_query_gid_table(context, gids.data(), gids.size(), 0));
  gids.resize(static_cast<std::size_t>(found));
  std::vector<PortFacts> ports;
  for (std::uint8_t number = 1; number <= count; ++number) {
    ibv_port_attr attributes{};
    if (ibv_query_port(context, number, &attributes) != 0) continue;
    PortFacts& port = ports.emplace_back();
    port.number = number;
    port.active = attributes.state == IBV_PORT_ACTIVE;
    port.infiniband = attributes.link_layer == IBV_LINK_LAYER_INFINIBAND;
    port.message_bytes = attributes.max_msg_sz;
    port.mtu_bytes = 128U << attributes.active_mtu;  // IBV_MTU_256 is 1
    for (const ibv_gid_entry& gid : gids) {
      if (gid.port_num != number) continue;
      port.gids.push_back({static_cast<int>(gid.gid_index), gid.gid_type == IBV_GID_TYPE_ROCE_V2, ip_address(gid.gid)});
    }
  }
  return ports;
}

DeviceFacts ask(ibv_device* device) {
  DeviceFacts facts;
  facts.name = ibv_get_device_name(device);
  const std::unique_ptr<ibv_context, decltype(&ibv_close_device)> context(ibv_open_device(device), ibv_close_device);
  ibv_device_attr attributes{};
  if (context == nullptr || ibv_query_device(context.get(), &attributes) != 0) {
    facts.trouble = fmt::format("cannot be opened ({}); this user must be able to read and write /dev/infiniband/*",
                                std::strerror(errno));
    return facts;
  }
  facts.atomics = attributes.atomic_cap != IBV_ATOMIC_NONE;
  facts.reads_out = static_cast<std::uint32_t>(attributes.max_qp_init_rd_atom);
  facts.reads_in = static_cast<std::uint32_t>(attributes.max_qp_rd_atom);
  facts.queue_length = static_cast<std::uint32_t>(attributes.max_qp_wr);
  facts.completion_queue_length = static_cast<std::uint32_t>(attributes.max_cqe);
  facts.region_bytes = attributes.max_mr_size;
  facts.ports = list_ports(context.get(), attributes.phys_port_cnt);
  return facts;
}

}  // namespace

std::vector<DeviceFacts> list_devices() {
  int count = 0;
  const std::unique_ptr<ibv_device*[], decltype(&ibv_free_device_list)> list(ibv_get_device_list(&count),
                                                                             ibv_free_device_list);
  std::vector<DeviceFacts> devices;
  for (int i = 0; list != nullptr && i < count; ++i) devices.push_back(ask(list[i]));
  return devices;
}

}  // namespace granary::rdma::verbs
