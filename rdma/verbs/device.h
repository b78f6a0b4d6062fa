#pragma once
// Chooses the device, port and address to use. The choice is made on plain values, so that tests can make it for
// devices that no test machine has.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <granary/status.h>

#include "rdma/verbs/options.h"

namespace granary::rdma::verbs {

struct GidFacts {
  int index = 0;
  bool roce_v2 = false;
  std::string address;  ///< the IP address that it stands for; empty if there is none, or it is valid only on its link
};

struct PortFacts {
  std::uint8_t number = 0;
  bool active = false;
  bool infiniband = false;  ///< whether the link layer is InfiniBand; otherwise it is Ethernet
  std::uint32_t message_bytes = 0;
  std::uint32_t mtu_bytes = 0;  ///< the greatest payload of a packet
  std::vector<GidFacts> gids;
};

struct DeviceFacts {
  std::string name;
  std::string trouble;  ///< why the device could not be asked; then the rest is empty
  bool atomics = false;
  std::uint32_t reads_out = 0;  ///< READs and atomics that a queue pair may have outstanding
  std::uint32_t reads_in = 0;   ///< how many of them it can serve
  std::uint32_t queue_length = 0;
  std::uint32_t completion_queue_length = 0;
  std::uint64_t region_bytes = 0;
  std::vector<PortFacts> ports;
};

/// The device as all queue pairs of a fabric share it.
struct DeviceChoice {
  std::string device;
  std::uint8_t port = 0;
  std::string address;
  std::uint64_t region_bytes = 0;
  std::uint8_t reads_out = 0;
  std::uint8_t reads_in = 0;
  std::uint32_t outstanding = 0;
  std::uint32_t connections = 0;
  std::uint32_t operation_bytes = 0;
};

/// Returns the first device and port that fit the options, or an error that says what is missing and what to do about
/// it.
Result<DeviceChoice> choose_device(std::span<const DeviceFacts> devices, const VerbsOptions& options);

/// Asks all devices of this machine for their facts.
std::vector<DeviceFacts> list_devices();

}  // namespace granary::rdma::verbs
