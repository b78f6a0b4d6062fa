#pragma once
// Lists the options of a node of a cluster, with their ranges. include/granary/cluster.h has their types and defaults,
// and says more of each.

#include <granary/cluster.h>

#include "cluster_config/config.h"
#include "src/base/option.h"

namespace granary::option {

template <>
struct Table<ClusterOptions> {
  static constexpr std::uint32_t kDay_ms = 24 * 60 * 60 * 1000;
  static constexpr std::tuple kRows{
      path("file", &ClusterOptions::file, "a path", "the cluster file, the same on all hosts", kRequired),
      number("node", &ClusterOptions::node, 1, cluster_config::kGreatestNodeId, "",
             "which of the cluster file's nodes this process is", kRequired),
      plain("database", &ClusterOptions::database, "options of a database",
            "those of the node's database that the cluster file does not set", "each at its default"),
      number("start_timeout_ms", &ClusterOptions::start_timeout_ms, 1, kDay_ms, "milliseconds",
             "how long to wait at the start for the other nodes"),
      number("barrier_timeout_ms", &ClusterOptions::barrier_timeout_ms, 1, kDay_ms, "milliseconds",
             "how long a barrier waits for a node that lives and answers, but does not come"),
      choice("read_lock", &ClusterOptions::read_lock,
             {{ReadLock::kLease, "lease"}, {ReadLock::kExclusive, "exclusive"}},
             "how declared records of other nodes that are only read are held: leased, which readers share; or locked "
             "like those that are written, for comparison"),
      on_off("recovers_others", &ClusterOptions::recovers_others,
             "whether this node recovers dead ones whose directories it can open"),
      on_off("new_board", &ClusterOptions::new_board,
             "whether to go on with the node's data where ZooKeeper has lost what it knew of the cluster"),
      on_off("leaves_when_log_fails", &ClusterOptions::leaves_when_log_fails,
             "whether this node ends its membership when its log has failed"),
      plain("give_up", &ClusterOptions::give_up, "a function", "asked during the start whether to end it"),
  };
};

}  // namespace granary::option
