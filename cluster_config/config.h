#pragma once
// Holds the contents of a cluster file as plain values. If the file does not have a key, its member keeps the default
// that stands here. keys.h has the keys, and load.h reads them.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/options.h>

#include "cluster_config/provider.h"

namespace granary::cluster_config {

/// The limits of a cluster file.
inline constexpr std::uint32_t kMostNodes = 64;
inline constexpr std::uint16_t kGreatestNodeId = 4095;  ///< a state word has 12 bits for it
/// The most workers of one node. The database has 256 (kMaxWorkers): as many again run calls, and two are the node's
/// own.
inline constexpr std::uint32_t kMostWorkers = 127;

enum class MembershipKind : std::uint8_t { kLocal, kZookeeper };
enum class ClockKind : std::uint8_t { kHost, kPtp, kNone };
/// Says whether verbs devices are accepted whose compare-and-swaps store when they fail, as in
/// rdma::verbs::VerbsOptions::tolerate_swap_stores.
enum class SwapStores : std::uint8_t { kRefused, kTolerated };
/// Says whose directories a node sees: those of all nodes of its host, or only its own.
enum class Directories : std::uint8_t { kByHost, kApart };

/// Says where the members are written down.
struct MembershipConfig {
  MembershipKind kind = MembershipKind::kLocal;
  std::vector<std::string> servers = {};  ///< zookeeper: "host:port"
  std::string chroot = {};                ///< zookeeper: such as "/granary/bank"
  std::string user = {};                  ///< zookeeper: for digest authentication; empty: none
  std::string password_file = {};         ///< the file with that user's password
  std::uint32_t session_timeout_ms = 2000;
};

struct ClockConfig {
  ClockKind kind = ClockKind::kHost;
  std::string pmc_socket = "/var/run/ptp4l";  ///< ptp: the socket of ptp4l
  std::uint8_t domain = 0;                    ///< ptp: the domain of ptp4l
  std::string grandmaster = {};               ///< ptp: the identity of the clock that all clocks follow
  std::uint32_t max_error_us = 50;            ///< ptp: how far a node's clock may be from that one
};

/// One node. Paths are absolute.
struct NodeConfig {
  std::uint16_t id = 0;                  ///< 1 to kGreatestNodeId
  std::string host = "localhost";        ///< nodes with the same name run on one machine
  std::string address = {};              ///< the only IP address where it listens; empty: at none
  std::uint16_t port = 18'515;           ///< verbs: the port in rdma_cm's port space
  std::string device = {};               ///< verbs: such as "mlx5_0"; empty: the first that can be used
  std::uint8_t device_port = 0;          ///< verbs: the port, from 1; 0: the first that is active
  std::vector<std::uint32_t> cpus = {};  ///< empty: any
  int numa_node = Options().numa_node;   ///< -1: any
  std::uint32_t workers = 1;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  /// How much memory the location caches may take, which remember where other nodes' records are. They take it as they
  /// grow.
  std::uint64_t location_cache_bytes = std::uint64_t{64} << 20;
  std::string data_directory = {};  ///< empty: no data survive the processes
  std::vector<std::string> log_directories = {};
  std::string reliable_directory = {};
  std::string http = {};             ///< where it tells of itself, as "127.0.0.1:9461" (http_address.h); empty: nowhere
  std::string http_token_file = {};  ///< has the token that a caller must show; empty: none is needed
  // The next four are for scripts/cluster.sh, which installs nodes and starts them. A node itself does not use them.
  std::string ssh_host = {};  ///< how ssh reaches the node's host; empty: by `host`
  std::string ssh_user = {};  ///< empty: as ssh decides
  std::uint16_t ssh_port = 22;
  std::string install_directory = {};  ///< the release package is unpacked there; nodes of a host share it
  int line = 0;                        ///< the line of the file where the node begins, for messages
};

struct ClusterConfig {
  std::string file = {};  ///< the path of the file itself
  std::string name = {};
  Provider provider = Provider::kShm;
  SwapStores swap_stores = SwapStores::kRefused;
  Directories directories = Directories::kByHost;
  std::string run_directory = {};  ///< has the sockets and locks of the nodes of a host; private to the user
  std::string key_file = {};       ///< empty: every process that reaches a node may connect
  std::uint32_t epoch_ms = Options().epoch_ms;
  std::uint32_t snapshot_epochs = Options().snapshot_epochs;
  std::uint32_t lease_us = 400;  ///< how long a lease on a record can be relied on
  Release release = Options().release;
  MembershipConfig membership = {};
  ClockConfig clock = {};
  std::vector<NodeConfig> nodes = {};  ///< by id

  /// Returns the node with this id, or nullptr if there is none.
  const NodeConfig* find(std::uint16_t id) const;
};

/// Returns a fingerprint of everything that must be alike on all nodes: name, provider, membership, epochs, the nodes
/// with their workers and places, and whether they keep data. Two nodes whose files differ in any of it must not run
/// together.
std::uint64_t fingerprint(const ClusterConfig& config);

/// Whether any node keeps its data.
bool has_logs(const ClusterConfig& config);

}  // namespace granary::cluster_config
