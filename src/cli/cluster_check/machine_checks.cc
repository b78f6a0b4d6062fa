#include "src/cli/cluster_check/machine_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/byte_size.h"
#include "src/cli/cluster_check/logout.h"
#include "src/node/node_needs.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;
using Nodes = std::span<const NodeConfig>;

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::uint64_t memory_of(Nodes nodes) {
  std::uint64_t bytes = 0;
  for (const NodeConfig& node : nodes) bytes += node.memory_bytes;
  return bytes;
}

Finding check_memory(Nodes here, const Machine& machine) {
  std::uint64_t caches = 0;
  for (const NodeConfig& node : here) caches += node.location_cache_bytes;
  const std::uint64_t needed = memory_of(here) + caches;
  Finding finding{.subject = "memory",
                  .found = fmt::format("{} for {} node{}, up to {} of it location caches, of {} MiB",
                                       base::size_text(needed), here.size(), here.size() == 1 ? "" : "s",
                                       base::size_text(caches), machine.memory_bytes / kMiB)};
  if (needed > machine.memory_bytes) {
    finding.verdict = Verdict::kBad;
    finding.mend = "give the nodes less 'memory' or 'location_cache', or run some of them elsewhere";
  }
  return finding;
}

Finding check_huge_pages(Nodes here, const Machine& machine) {
  const std::uint64_t needed = memory_of(here) / kHugePage;
  Finding finding{
      .subject = "huge pages",
      .found = fmt::format("{} of 2 MiB are free, the nodes' memory takes {}", machine.free_huge_pages, needed)};
  if (machine.free_huge_pages < needed) {
    finding.verdict = Verdict::kWarning;
    finding.mend = fmt::format("sysctl vm.nr_hugepages={}; without, memory is slower (docs/rdma.md)", needed);
  }
  return finding;
}

/// Compares the limits of a process with what the nodes need. As each node is a process, a limit has to do for the node
/// that needs most.
Finding check_limits(const ClusterConfig& config, Nodes here, const Machine& machine) {
  constexpr std::uint64_t kBesideMemory = 256 * kMiB;  // stacks, mailboxes and the program
  constexpr std::uint64_t kThreads = 16, kFiles = 64;  // for a node, beside its workers' and those for each other node
  constexpr std::uint64_t kThreadsOfWorker = 2, kFilesOfPeer = 8;
  const std::uint64_t files_of_endpoint = traits(config.provider).devices ? 2 : 0;
  std::uint64_t bytes = 0, threads = 0, files = 0;
  for (const NodeConfig& node : here) {
    bytes = std::max(bytes, node.memory_bytes + node.location_cache_bytes + kBesideMemory);
    threads += kThreadsOfWorker * node.workers + kThreads;
    files = std::max(files, kFiles + kFilesOfPeer * config.nodes.size() + files_of_endpoint * db::endpoints_of(node));
  }
  const ProcessLimits& limits = machine.limits;
  Finding finding{.subject = "process limits", .found = "leave room for the nodes"};
  const auto lacks = [&](std::string found, const char* mend) {
    finding = {.subject = finding.subject, .verdict = Verdict::kBad, .found = std::move(found), .mend = mend};
  };
  if (limits.address_bytes < bytes)
    lacks(fmt::format("a process may have {} MiB of addresses, a node needs {}", limits.address_bytes / kMiB,
                      bytes / kMiB),
          "ulimit -v unlimited, or less 'memory'");
  if (limits.threads < threads)
    lacks(fmt::format("this user may have {} threads, the nodes need some {}", limits.threads, threads),
          "raise 'nproc' in /etc/security/limits.d, or TasksMax= of the service");
  if (limits.files < files)
    lacks(fmt::format("a process may have {} open files, a node needs some {}", limits.files, files),
          "raise 'nofile' in /etc/security/limits.d, or LimitNOFILE= of the service");
  return finding;
}

/// Compares the limit of locked memory with the memory that RDMA devices reach: it is pinned, so it counts as locked.
Finding check_lock_limit(const ClusterConfig& config, Nodes here, const Machine& machine) {
  std::uint64_t needed = 0;
  for (const NodeConfig& node : here)
    needed = std::max(needed, node.memory_bytes + db::buffer_bytes(node) + db::mailbox_bytes(config));
  Finding finding{.subject = "locked memory", .found = "no limit"};
  if (machine.lock_limit_bytes == kNoLimit) return finding;
  finding.found = fmt::format("a process may lock {} MiB, a node needs more than {} MiB",
                              machine.lock_limit_bytes / kMiB, needed / kMiB);
  if (machine.lock_limit_bytes <= needed) {
    finding.verdict = Verdict::kBad;
    finding.mend = kMendLockLimit;
  }
  return finding;
}

Finding check_cpus(Nodes here, const Machine& machine) {
  std::size_t workers = 0;
  for (const NodeConfig& node : here) {
    workers += node.workers;
    for (const std::uint32_t cpu : node.cpus) {
      if (machine.cpus.contains(cpu)) continue;
      return {.subject = "CPUs",
              .verdict = Verdict::kBad,
              .found = fmt::format("node {} names CPU {}, which is not there or not for this process", node.id, cpu),
              .mend = "correct 'cpus'"};
    }
  }
  Finding finding{.subject = "CPUs",
                  .found = fmt::format("{} for {} worker{}", machine.cpus.size(), workers, workers == 1 ? "" : "s")};
  if (workers > machine.cpus.size()) {
    finding.verdict = Verdict::kWarning;
    finding.mend = "workers take turns on the CPUs; give the nodes fewer 'workers'";
  }
  return finding;
}

Finding check_numa(Nodes here, const Machine& machine) {
  for (const NodeConfig& node : here) {
    if (node.numa_node < 0 || machine.numa_nodes.contains(node.numa_node)) continue;
    return {.subject = "NUMA nodes",
            .verdict = Verdict::kBad,
            .found = fmt::format("node {} names NUMA node {}; there are {}", node.id, node.numa_node,
                                 machine.numa_nodes.size()),
            .mend = "correct 'numa_node', or leave it out"};
  }
  return {.subject = "NUMA nodes", .found = fmt::format("{}", machine.numa_nodes.size())};
}

Finding check_address(const NodeConfig& node, const Machine& machine) {
  Finding finding{.subject = fmt::format("address of {}", node.id), .found = node.address};
  if (!machine.addresses.contains(node.address)) {
    finding.verdict = Verdict::kBad;
    finding.found = fmt::format("no network device here has {}", node.address);
    finding.mend = "correct 'address', or add it to a device: ip address add";
  }
  return finding;
}

Finding check_device(const ClusterConfig& config, const NodeConfig& node, const Machine& machine) {
  rdma::verbs::VerbsOptions options;
  options.connections = static_cast<std::uint32_t>(config.nodes.size());
  options.device = node.device;
  options.port = node.device_port;
  options.address = node.address;
  const auto choice = rdma::verbs::choose_device(machine.devices, options);
  Finding finding{.subject = fmt::format("device of {}", node.id)};
  if (choice.ok()) {
    finding.found = fmt::format("{} port {}", choice->device, choice->port);
  } else {
    finding.verdict = Verdict::kBad;
    finding.found = choice.status().message();
    finding.mend = "docs/rdma.md tells what a device needs, and how to make one of an ordinary network device";
  }
  return finding;
}

/// Whether a node has its log rings in /dev/shm, where they are unless the file names a directory for them.
bool has_rings_in_shared_memory(const NodeConfig& node) {
  if (node.data_directory.empty()) return false;
  return node.reliable_directory.empty() || (node.reliable_directory + "/").starts_with("/dev/shm/");
}

}  // namespace

Findings check_machine(const ClusterConfig& config, Nodes here, const Machine& machine) {
  Findings findings{check_memory(here, machine), check_huge_pages(here, machine), check_limits(config, here, machine),
                    check_cpus(here, machine), check_numa(here, machine)};
  const cluster_config::ProviderTraits& provider = traits(config.provider);
  if (machine.logout_removes_rings && std::ranges::any_of(here, has_rings_in_shared_memory))
    findings.push_back(check_logout(machine.logout_removes_rings));
  if (provider.devices) findings.push_back(check_lock_limit(config, here, machine));
  for (const NodeConfig& node : here) {
    if (provider.addresses) findings.push_back(check_address(node, machine));
    if (provider.devices) findings.push_back(check_device(config, node, machine));
  }
  return findings;
}

}  // namespace granary::cluster_check
