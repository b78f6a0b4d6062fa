#include "bench/harness/engine_flags.h"

#include <fmt/format.h>

#include "bench/harness/cluster_flags.h"
#include "src/db/options_check.h"

namespace granary::bench {
namespace {

/// Refuses a flag that needs the engine on this node alone, if something else runs.
Status needs_engine(const char* flag, const FlagValues& flags, const Settings& settings) {
  if (on_cluster(flags))
    return {StatusCode::kInvalidArgument, fmt::format("--{}: it is for one node alone, not for a cluster's", flag)};
  for (const Variant variant : settings.variants.list()) {
    if (!is_other_engine(variant)) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("--{}: --variant={} has no transactions of the engine", flag, name(variant))};
  }
  return {};
}

Status set_breakdown(const FlagValues& flags, Settings& settings) {
  settings.breakdown = flags.declared("breakdown") && flags.enabled("breakdown");
  return settings.breakdown ? needs_engine("breakdown", flags, settings) : Status();
}

Status set_batch(const FlagValues& flags, Settings& settings) {
  if (!flags.declared("batch") || flags.integer("batch") == 1) return {};
  if (const Status fits = needs_engine("batch", flags, settings); !fits.ok()) return fits;
  if (settings.breakdown)
    return {StatusCode::kInvalidArgument, "--batch: the time of transactions that take turns has no parts to tell"};
  if (db::runs_in_regions(settings.options)) {
    return {StatusCode::kInvalidArgument,
            "--batch: transactions of --protocol=drtm run in hardware regions, which cannot take turns"};
  }
  settings.fibers = static_cast<std::uint32_t>(flags.integer("batch"));
  return {};
}

/// Takes --fibers, if the command has it. Refused if a node may be killed, as its account has room for one client of
/// each worker.
Status set_fibers(const FlagValues& flags, Settings& settings) {
  if (!flags.declared("cluster")) return {};  // `predict` has a flag of that name for nodes that it does not run
  settings.fibers = static_cast<std::uint32_t>(flags.integer("fibers"));
  if (settings.fibers == 1) return {};
  const auto refusal = [&settings](const char* why) {
    return Status(StatusCode::kInvalidArgument, fmt::format("--fibers={}: {}", settings.fibers, why));
  };
  if (!on_cluster(flags)) return refusal("a node alone waits for no other; give it --batch instead, or a --cluster");
  if (settings.protocol == Protocol::kTwoPcTcp) return refusal("--protocol=two_pc_tcp has no fibers");
  if (kills(flags) || settings.time_line) return refusal("what becomes of a kill is told of one client a worker");
  return {};
}

}  // namespace

void add_engine_flags(const BenchCommand& command, std::vector<Flag>& flags) {
  if (command.breakdown) {
    flags.push_back(switch_flag(
        "breakdown", false,
        "Tells where the time of transactions goes, from one request in 16 of the measurement, and how their "
        "commit times grow. On one node, with the engine."));
  }
  if (command.batches) {
    flags.push_back(integer_flag("batch", 1, 1, Worker::kMostTogether, "transactions",
                                 "That each worker has open at once, and runs in turns: while one waits for memory, "
                                 "the others go on (Worker::run_many). On one node, with the engine."));
  }
  if (command.on_nodes) {
    flags.push_back(integer_flag("fibers", 1, 1, ClusterWorker::kMostTogether, "transactions",
                                 "That each worker of a node has open at once: while one waits for another node, the "
                                 "others go on. Of use where the network's latency is long beside the work."));
  }
}

Status set_engine_flags(const FlagValues& flags, Settings& settings) {
  if (Status told = set_breakdown(flags, settings); !told.ok()) return told;
  if (Status taken = set_fibers(flags, settings); !taken.ok()) return taken;
  return set_batch(flags, settings);
}

}  // namespace granary::bench
