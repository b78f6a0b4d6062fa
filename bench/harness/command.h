#pragma once
// One `granary bench NAME`: its flags, its variants, and how it makes a workload for the runner. registry.h lists all
// of them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <granary/cluster.h>
#include <granary/granary.h>

#include "bench/harness/exit_code.h"
#include "bench/harness/flags.h"
#include "bench/harness/fresh_database.h"
#include "bench/harness/protocol.h"
#include "bench/harness/rendezvous.h"
#include "bench/harness/variant.h"
#include "bench/harness/workload.h"

namespace granary::bench {

/// The settings that follow from the common flags.
struct Settings {
  Options options;  ///< engine options: common flags and variants already applied; max_workers has room for loaders
  VariantSet variants;
  std::uint32_t workers = 2;
  std::uint32_t fibers = 1;  ///< clients of each worker, which run together (Worker::run_together, or ClusterWorker's)
  std::uint64_t seed = 1;
  bool verify = false;
  bool breakdown = false;  ///< whether requests' time is told by parts; only for the engine on one node
  ClusterOptions cluster =
      {};  ///< the node that this process is, unless `share` is alone; its database's options are `options`
  NodeShare share = {};
  Protocol protocol = Protocol::kOcc;
  std::shared_ptr<Rendezvous> rendezvous = {};  ///< the meeting point of the nodes; none if this process is alone
  std::shared_ptr<TimeLine> time_line = {};     ///< set if one of the nodes is killed
  std::vector<std::shared_ptr<ScratchDirectory>> scratch =
      {};  ///< the directories of durable databases; removed at the end

  /// Whether this process takes the place of one that was killed.
  bool returned() const { return time_line && time_line->returned(share.node); }
};

using WorkloadFactory = std::function<Result<std::unique_ptr<Workload>>(const Settings&, const FlagValues&)>;

/// The files that the nodes of a run have left.
struct NodesLeft {
  std::vector<std::string> files = {};  ///< one for each node, which may be missing unless `whole`
  bool whole = true;                    ///< whether all nodes came to their end
  std::uint64_t returns = 0;            ///< how often killed nodes came back, by --kills
};

struct BenchCommand {
  std::string name = {};                               ///< "ycsb"
  std::string summary = {};                            ///< one line for `granary help bench`
  std::string description = {};                        ///< a short paragraph for `granary bench NAME --help`
  std::vector<std::string> examples = {};              ///< flags of whole command lines, e.g. "--mix=a --theta=0.9"
  std::vector<Flag> flags = {};                        ///< its own flags; the common ones (common_flags()) come on top
  VariantSet variants = {};                            ///< the variants that make sense here
  bool breakdown = false;                              ///< whether its store can tell where time goes (--breakdown)
  bool batches = false;                                ///< whether its transactions can take turns (--batch)
  bool on_nodes = false;                               ///< whether it runs on the nodes of a cluster, too
  std::vector<Protocol> protocols = {Protocol::kOcc};  ///< the protocols that it can run on nodes
  std::string no_protocol = {};                        ///< why it has no --protocol, to follow its name: "runs no ..."
  std::uint64_t latency_sample = 1;                    ///< default of --latency_sample
  bool verify = false;                                 ///< default of --verify
  double seconds = 30;                                 ///< default of --seconds
  std::uint64_t repeat = 3;                            ///< default of --repeat
  std::string durability = "none";                     ///< default of --durability; empty: there is nothing to log
  bool has_summary = true;                             ///< whether its JSON has all of BenchBase's top-level keys
  std::string index_on_nodes = {};                     ///< the value of --index on a cluster, if it is not its default
  /// Sets flags that were not given to the values that others imply (ycsb's --preset), so that reports tell them.
  /// Called after the harness has set those that it knows itself (set_implied_values()). May be empty.
  std::function<void(FlagValues&)> set_defaults = nullptr;
  /// Makes a fresh workload. An error is a usage error (exit code 2), such as contradictory flags.
  WorkloadFactory make = nullptr;
  /// Runs the whole command, and prints its result. Set by commands that do not fit the runner.
  std::function<ExitCode(const Settings&, const FlagValues&)> run_instead = nullptr;
  /// Makes one result of the files that --json named on each node. Set beside `run_instead` if that runs on nodes.
  /// Nodes that died, or gave up, have left files that are incomplete, or none.
  std::function<ExitCode(const FlagValues&, const NodesLeft&)> join = nullptr;
  /// Returns an error if a file cannot be written; called before the nodes run. Set beside `join`, if that writes more
  /// files than --json.
  std::function<Status(const FlagValues&)> check_files = nullptr;
  /// Flags that make no sense on nodes, so that `granary cluster run` refuses them.
  std::vector<std::string> alone_flags = {};
  /// Returns a usage error if the command does not survive a kill with these flags. Set if it runs on nodes of which
  /// one may be killed and come back (--kill).
  std::function<Status(const FlagValues&)> survives_kill = nullptr;
  /// Whether each of its nodes may be killed and come back any number of times (--kills). Such a command has a `join`.
  bool survives_kills = false;
};

/// Returns the flags that every bench command has: workers, seconds, warmup, repeat, json, ...
std::vector<Flag> common_flags(const BenchCommand& command);

/// Returns the protocol of --protocol. It is a usage error if the command cannot run it, or has no other nodes.
Result<Protocol> protocol_from(const BenchCommand& command, const FlagValues& flags);

/// Returns the settings from the common flags. An error is a usage error.
Result<Settings> settings_from(const BenchCommand& command, const FlagValues& flags);

/// Runs the command on parsed flags: loads, measures, verifies, prints, writes JSON.
ExitCode run_bench(const BenchCommand& command, const FlagValues& flags);

}  // namespace granary::bench
