#pragma once
// Lists the keys of the cluster file. docs/cluster-file.md says more about each key.

#include "cluster_config/config.h"
#include "src/base/options_table.h"

namespace granary::option {

/// Returns a row whose words are the names of the providers.
constexpr auto provider_row() {
  using cluster_config::ClusterConfig, cluster_config::Provider;
  Row<ClusterConfig, Provider> row{"provider",
                                   &ClusterConfig::provider,
                                   {},
                                   "how nodes reach each other's memory: shared memory of one host, or RDMA devices",
                                   {}};
  std::transform(cluster_config::kProviders.begin(), cluster_config::kProviders.end(), row.words.begin(),
                 [](const auto& each) {
                   return Word<Provider>{each.provider, each.name};
                 });
  return row;
}

/// The keys of [cluster].
template <>
struct Table<cluster_config::ClusterConfig> {
  using Config = cluster_config::ClusterConfig;
  using SwapStores = cluster_config::SwapStores;
  using Directories = cluster_config::Directories;
  static constexpr std::tuple kRows{
      plain("name", &Config::name, "up to 64 letters, digits, -_.", "the cluster's name", kRequired),
      provider_row(),
      choice("directories", &Config::directories, {{Directories::kByHost, "by_host"}, {Directories::kApart, "apart"}},
             "whether a node sees the directories of the others on its host, or only its own"),
      choice("swap_stores", &Config::swap_stores,
             {{SwapStores::kRefused, "refused"}, {SwapStores::kTolerated, "tolerated"}},
             "devices whose failed compare-and-swaps store"),
      path("run_directory", &Config::run_directory, "a path of at most 90 bytes",
           "a directory for the nodes' sockets and locks, private to their user", kRequired),
      path("key_file", &Config::key_file, "a path", "what 'granary cluster key FILE' makes", "required for verbs"),
      same_as<&Options::epoch_ms>(&Config::epoch_ms),
      same_as<&Options::snapshot_epochs>(&Config::snapshot_epochs),
      number("lease_us", &Config::lease_us, 20, 1'000'000, "microseconds",
             "for how long whoever leases a record can rely on it"),
      same_as<&Options::release>(&Config::release),
  };
};

/// The keys of [membership].
template <>
struct Table<cluster_config::MembershipConfig> {
  using Config = cluster_config::MembershipConfig;
  using Kind = cluster_config::MembershipKind;
  static constexpr std::tuple kRows{
      choice("kind", &Config::kind, {{Kind::kLocal, "local"}, {Kind::kZookeeper, "zookeeper"}},
             "lock files in the run directory, which serve one host, or ZooKeeper"),
      plain("servers", &Config::servers, "a list of host:port, each once",
            "ZooKeeper's servers, as [\"10.0.0.1:2181\"]", "required for zookeeper"),
      plain("chroot", &Config::chroot, "/granary and the like", "path of ZooKeeper below which the cluster is"),
      plain("user", &Config::user, "text", "for authentication by digest, with password_file"),
      path("password_file", &Config::password_file, "a path", "holds that user's password"),
      number("session_timeout_ms", &Config::session_timeout_ms, 200, 60'000, "milliseconds",
             "after which a node that stands still, or does not reach ZooKeeper, is dead for the others and ends"),
  };
};

/// The keys of [clock].
template <>
struct Table<cluster_config::ClockConfig> {
  using Config = cluster_config::ClockConfig;
  using Kind = cluster_config::ClockKind;
  static constexpr std::tuple kRows{
      choice("kind", &Config::kind, {{Kind::kHost, "host"}, {Kind::kPtp, "ptp"}, {Kind::kNone, "none"}},
             "one host's own clock, which serves one host; clocks that linuxptp keeps together; or no time in common, "
             "so no leases"),
      path("pmc_socket", &Config::pmc_socket, "a path", "where ptp4l listens", {}),
      number("domain", &Config::domain, 0, 127, "", "its PTP domain"),
      plain("grandmaster", &Config::grandmaster, "text",
            "the identity of the clock that all nodes follow, as \"001122.fffe.334455\"", "required for ptp"),
      number("max_error_us", &Config::max_error_us, 1, 1'000'000, "microseconds",
             "how far a node's clock may be from it"),
  };
};

/// The keys of [[node]] and [defaults].
template <>
struct Table<cluster_config::NodeConfig> {
  using Config = cluster_config::NodeConfig;
  static constexpr std::tuple kRows{
      number("id", &Config::id, 1, cluster_config::kGreatestNodeId, "", "its number, which no other node has",
             kRequired),
      plain("host", &Config::host, "text", "nodes with the same name run on one machine", {}),
      plain("address", &Config::address, "an IP address", "the IP address where it listens", "required for verbs"),
      number("port", &Config::port, 1, 65'535, "", "where it listens, in the port space of rdma_cm"),
      plain("device", &Config::device, "text", "the RDMA device, as \"mlx5_0\"", "the first that can be used"),
      number("device_port", &Config::device_port, 1, 255, "", "port of the device", "the first that is active"),
      plain("cpus", &Config::cpus, "numbers as 0-3,8",
            "where its threads run: that which joins, and those that it starts from then on", "any"),
      same_as<&Options::numa_node>(&Config::numa_node),
      number("workers", &Config::workers, 1, cluster_config::kMostWorkers, "threads", "threads that run transactions"),
      size("memory", &Config::memory_bytes, 64 * kMiB, 64 * kTiB, "memory for records and indexes"),
      size("location_cache", &Config::location_cache_bytes, kMiB, kTiB,
           "the most that it uses, beside memory, to remember where the records of other nodes are"),
      path("data_directory", &Config::data_directory, "a path", "where the node's data live on disk", "in memory only"),
      same_as<&Options::reliable_directory>(&Config::reliable_directory),
      same_as<&Options::log_directories>(&Config::log_directories),
      plain("http", &Config::http, "an IP address and a port",
            "where it tells of itself by HTTP, as \"127.0.0.1:9461\" or \"9461\"", "nowhere"),
      path("http_token_file", &Config::http_token_file, "a path",
           "holds the token that whoever asks by HTTP has to show", "none, which a loopback address may do without"),
      plain("ssh_host", &Config::ssh_host, "text", "the name or address by which scripts/cluster.sh reaches the host",
            "host"),
      plain("ssh_user", &Config::ssh_user, "text", "the user there", "as ssh decides"),
      number("ssh_port", &Config::ssh_port, 1, 65'535, "", "the port of its ssh server"),
      path("install_directory", &Config::install_directory, "a path",
           "where scripts/cluster.sh installs Granary on the host", "beside the file"),
  };
};

}  // namespace granary::option
