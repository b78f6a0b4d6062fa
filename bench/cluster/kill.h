#pragma once
// Takes --kill and --restart_after, which say which node of a run is killed, and when.

#include <cstdint>
#include <optional>

#include "bench/harness/command.h"
#include "cluster_config/config.h"

namespace granary::bench::cluster {

struct Kill {
  std::size_t node = 0;  ///< its place in the cluster file
  std::uint16_t id = 0;
  double at_seconds = 0;                          ///< time since the measured window began
  std::optional<double> restart_after_seconds{};  ///< time since it was killed; none: it is not started again
};

/// Returns how many times nodes are killed by --kills, which only a benchmark with BenchCommand::survives_kills has; 0
/// for none. An error is a usage error.
Result<std::uint64_t> kills_from(const BenchCommand& command, const FlagValues& flags,
                                 const cluster_config::ClusterConfig& config);

/// Returns which node is to be killed, if any. An error is a usage error: the flags contradict each other or the
/// cluster file, or the benchmark's data could not be judged afterwards.
Result<std::optional<Kill>> kill_from(const BenchCommand& command, const FlagValues& flags,
                                      const cluster_config::ClusterConfig& config);

}  // namespace granary::bench::cluster
