#pragma once
// The contents of a cluster file as plain values. A key that the file does not have leaves its member at the default
// that stands here. keys.h has the keys, load.h reads them.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/options.h>

#include "cluster_config/provider.h"

namespace granary::cluster_config {

/// The limits of a cluster file.
inline constexpr std::uint32_t kMostNodes = 64;
inline constexpr std::uint16_t kGreatestNodeId = 4095;  ///< a state word has 12 bits for it
/// Of one node. The database has 256 (kMaxWorkers): as many again run calls, and two are the node's own.
inline constexpr std::uint32_t kMostWorkers = 127;

enum class MembershipKind : std::uint8_t { kLocal, kZookeeper };
enum class ClockKind : std::uint8_t { kHost, kPtp, kNone };
/// Whether verbs devices do whose compare-and-swaps store when they fail, as
/// rdma::verbs::VerbsOptions::tolerate_swap_stores.
enum class SwapStores : std::uint8_t { kRefused, kTolerated };
/// Whose directories a node sees: those of all nodes of its host, or its own only.
enum class Directories : std::uint8_t { kByHost, kApart };

/// Where members are written down.
struct MembershipConfig {
  MembershipKind kind = MembershipKind::kLocal;
  std::vector<std::string> servers = {};  ///< zookeeper: "host:port"
  std::string chroot = {};                ///< zookeeper: "/granary/bank"
  std::string user = {};                  ///< zookeeper: digest authentication; empty: none
  std::string password_file = {};         ///< holds that user's password
  std::uint32_t session_timeout_ms = 2000;
};

struct ClockConfig {
  ClockKind kind = ClockKind::kHost;
  std::string pmc_socket = "/var/run/ptp4l";  ///< ptp: where ptp4l listens
  std::uint8_t domain = 0;                    ///< ptp: its domain
  std::string grandmaster = {};               ///< ptp: the identity of the clock that all follow
  std::uint32_t max_error_us = 50;            ///< ptp: how far a node's clock may be from it
};

/// One node. Paths are absolute.
struct NodeConfig {
  std::uint16_t id = 0;                  ///< 1 to kGreatestNodeId
  std::string host = "localhost";        ///< nodes with the same name run on one machine
  std::string address = {};              ///< the IP address where it listens, and at no other; empty: at none
  std::uint16_t port = 18'515;           ///< verbs: in rdma_cm's port space
  std::string device = {};               ///< verbs: "mlx5_0"; empty: the first that can be used
  std::uint8_t device_port = 0;          ///< verbs: from 1; 0: the first that is active
  std::vector<std::uint32_t> cpus = {};  ///< empty: any
  int numa_node = Options().numa_node;   ///< -1: any
  std::uint32_t workers = 1;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  /// The memory that the location caches, which remember where other nodes' records are, may take; they take it as they
  /// grow.
  std::uint64_t location_cache_bytes = std::uint64_t{64} << 20;
  std::string data_directory = {};  ///< empty: nothing survives the processes
  std::vector<std::string> log_directories = {};
  std::string reliable_directory = {};
  std::string http = {};             ///< where it tells of itself, as "127.0.0.1:9461" (http_address.h); empty: nowhere
  std::string http_token_file = {};  ///< holds what whoever asks has to show; empty: nothing has to be shown
  // The last four are for scripts/cluster.sh, which installs nodes and starts them. A node itself does not use them.
  std::string ssh_host = {};  ///< how ssh reaches the node's host; empty: by `host`
  std::string ssh_user = {};  ///< empty: as ssh decides
  std::uint16_t ssh_port = 22;
  std::string install_directory = {};  ///< where the release package is unpacked; nodes of a host share it
  int line = 0;                        ///< of the file where it begins, for messages
};

struct ClusterConfig {
  std::string file = {};  ///< where it was read from
  std::string name = {};
  Provider provider = Provider::kShm;
  SwapStores swap_stores = SwapStores::kRefused;
  Directories directories = Directories::kByHost;
  std::string run_directory = {};  ///< sockets and locks of the nodes of a host; private to the user
  std::string key_file = {};       ///< empty: whoever reaches a node may connect
  std::uint32_t epoch_ms = Options().epoch_ms;
  std::uint32_t snapshot_epochs = Options().snapshot_epochs;
  std::uint32_t lease_us = 400;  ///< for how long a lease on a record can be relied on
  Release release = Options().release;
  MembershipConfig membership = {};
  ClockConfig clock = {};
  std::vector<NodeConfig> nodes = {};  ///< by id

  /// Nullptr if there is none.
  const NodeConfig* find(std::uint16_t id) const;
};

/// Of all that must be alike on all nodes: name, provider, membership, epochs, the nodes with their workers and places,
/// and whether they keep data. Two nodes whose files differ in any of it must not run together.
std::uint64_t fingerprint(const ClusterConfig& config);

/// Whether any node keeps its data.
bool has_logs(const ClusterConfig& config);

}  // namespace granary::cluster_config
