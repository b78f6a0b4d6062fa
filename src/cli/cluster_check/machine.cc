#include "src/cli/cluster_check/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>

#include "src/cli/cluster_check/logout.h"

namespace granary::cluster_check {
namespace {

std::set<std::string> own_addresses() {
  std::set<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, ::freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (one->ifa_addr == nullptr) continue;
    const void* address = nullptr;
    if (one->ifa_addr->sa_family == AF_INET) address = &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr;
    if (one->ifa_addr->sa_family == AF_INET6) address = &reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    if (address != nullptr && ::inet_ntop(one->ifa_addr->sa_family, address, text.data(), text.size()) != nullptr)
      addresses.insert(text.data());
  }
  return addresses;
}

std::set<std::uint32_t> allowed_cpus() {
  std::set<std::uint32_t> cpus;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.insert(cpu);
  }
  return cpus;
}

std::set<int> numa_nodes() {
  std::set<int> nodes;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
    const std::string name = entry.path().filename();
    int node = -1;
    if (name.starts_with("node") && std::from_chars(name.data() + 4, name.data() + name.size(), node).ec == std::errc())
      nodes.insert(node);
  }
  if (nodes.empty()) nodes.insert(0);
  return nodes;
}

std::uint64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? kNoLimit : limit.rlim_cur;
}

}  // namespace

Machine this_machine(bool with_devices) {
  Machine machine;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) machine.host_name = name.data();
  machine.addresses = own_addresses();
  machine.cpus = allowed_cpus();
  machine.numa_nodes = numa_nodes();
  struct sysinfo system {};
  if (::sysinfo(&system) == 0) machine.memory_bytes = std::uint64_t{system.totalram} * system.mem_unit;
  std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> machine.free_huge_pages;
  machine.lock_limit_bytes = limit_of(RLIMIT_MEMLOCK);
  machine.limits = {
      .address_bytes = limit_of(RLIMIT_AS), .threads = limit_of(RLIMIT_NPROC), .files = limit_of(RLIMIT_NOFILE)};
  machine.logout_removes_rings = logout_removes_rings("", ::geteuid());
  if (with_devices) machine.devices = rdma::verbs::list_devices();
  return machine;
}

std::vector<cluster_config::NodeConfig> nodes_here(const cluster_config::ClusterConfig& config,
                                                   const Machine& machine) {
  std::vector<cluster_config::NodeConfig> here;
  for (const cluster_config::NodeConfig& node : config.nodes) {
    if (node.host == machine.host_name || node.host == "localhost" || machine.addresses.contains(node.address))
      here.push_back(node);
  }
  return here;
}

}  // namespace granary::cluster_check
