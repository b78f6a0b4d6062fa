#pragma once
// One `granary bench NAME`: its flags, its variants, and how it makes a workload for the runner. All there are:
// registry.h.

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

/// What the common flags say, ready for use.
struct Settings {
  Options options;  ///< engine options: common flags and variants already applied; max_workers has room for loaders
  VariantSet variants;
  std::uint32_t workers = 2;
  std::uint32_t fibers = 1;  ///< clients of each worker, which run together (Worker::run_together, or ClusterWorker's)
  std::uint64_t seed = 1;
  bool verify = false;
  bool breakdown = false;       ///< the time of requests is to be told by parts; of the engine on one node only
  ClusterOptions cluster = {};  ///< if `share` is not alone: the node to be; its database's options are `options`
  NodeShare share = {};
  Protocol protocol = Protocol::kOcc;
  std::shared_ptr<Rendezvous> rendezvous = {};                  ///< of the nodes; none: this process is alone
  std::shared_ptr<TimeLine> time_line = {};                     ///< if one of the nodes is killed
  std::vector<std::shared_ptr<ScratchDirectory>> scratch = {};  ///< where durable databases live; removed at the end

  /// Whether this process takes the place of one that was killed.
  bool returned() const { return time_line && time_line->returned(share.node); }
};

using WorkloadFactory = std::function<Result<std::unique_ptr<Workload>>(const Settings&, const FlagValues&)>;

/// What the nodes of a run have left.
struct NodesLeft {
  std::vector<std::string> files = {};  ///< one for each node, which may be missing unless `whole`
  bool whole = true;                    ///< all nodes came to their end
  std::uint64_t returns = 0;            ///< of nodes that were killed, by --kills
};

struct BenchCommand {
  std::string name = {};                               ///< "ycsb"
  std::string summary = {};                            ///< one line for `granary help bench`
  std::string description = {};                        ///< a short paragraph for `granary bench NAME --help`
  std::vector<std::string> examples = {};              ///< flags of whole command lines, e.g. "--mix=a --theta=0.9"
  std::vector<Flag> flags = {};                        ///< its own; the common ones (common_flags()) come on top
  VariantSet variants = {};                            ///< that make sense here
  bool breakdown = false;                              ///< its store can tell where time goes (--breakdown)
  bool batches = false;                                ///< its transactions can take turns (--batch)
  bool on_nodes = false;                               ///< runs on the nodes of a cluster, too
  std::vector<Protocol> protocols = {Protocol::kOcc};  ///< that it can run there
  std::string no_protocol = {};                        ///< why it has no --protocol, behind its name: "runs no ..."
  std::uint64_t latency_sample = 1;                    ///< default of --latency_sample
  bool verify = false;                                 ///< default of --verify
  double seconds = 30;                                 ///< default of --seconds
  std::uint64_t repeat = 3;                            ///< default of --repeat
  std::string durability = "none";                     ///< default of --durability; empty: there is nothing to log
  bool has_summary = true;                             ///< its JSON has all of BenchBase's top-level keys
  std::string index_on_nodes = {};                     ///< what --index is on a cluster if it is not its default
  /// Gives flags that nobody has given the values that others imply (ycsb's --preset), so that reports tell them, after
  /// what the harness itself knows (set_implied_values()). It may be empty.
  std::function<void(FlagValues&)> set_defaults = nullptr;
  /// Makes a fresh workload. An error is a usage error (exit code 2): contradictory flags and the like.
  WorkloadFactory make = nullptr;
  /// Set by a command that does not fit the runner: gets everything, prints and returns by itself.
  std::function<ExitCode(const Settings&, const FlagValues&)> run_instead = nullptr;
  /// Set beside it if that runs on nodes, each of which leaves what it has to tell in the file that --json names for
  /// it: makes one result of these files. Nodes that died, or gave up, have left what they had until then, or nothing
  /// at all.
  std::function<ExitCode(const FlagValues&, const NodesLeft&)> join = nullptr;
  /// Set beside `join`, if that writes more files than --json: whether they can be written, asked before the nodes run.
  std::function<Status(const FlagValues&)> check_files = nullptr;
  /// Flags that make no sense on nodes: `granary cluster run` refuses them.
  std::vector<std::string> alone_flags = {};
  /// Set if it runs on nodes of which one may be killed and come back (--kill): an error, a usage error, if not with
  /// these flags.
  std::function<Status(const FlagValues&)> survives_kill = nullptr;
  /// Runs on nodes of which each may be killed and come back as often as one likes (--kills), and has a `join`.
  bool survives_kills = false;
};

/// Flags that every bench command has: workers, seconds, warmup, repeat, json, ...
std::vector<Flag> common_flags(const BenchCommand& command);

/// What --protocol says. An error, if the command cannot run it, or has no other nodes, is a usage error.
Result<Protocol> protocol_from(const BenchCommand& command, const FlagValues& flags);

/// Settings from the common flags. An error is a usage error.
Result<Settings> settings_from(const BenchCommand& command, const FlagValues& flags);

/// Runs the command on parsed flags: loads, measures, verifies, prints, writes JSON.
ExitCode run_bench(const BenchCommand& command, const FlagValues& flags);

}  // namespace granary::bench
