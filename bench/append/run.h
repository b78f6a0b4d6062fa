#pragma once
// Runs list-append clients on real threads against a database and returns the history.

#include <atomic>
#include <memory>
#include <vector>

#include <granary/granary.h>

#include "bench/append/client.h"
#include "bench/harness/cluster_figures.h"

namespace granary::bench::append {

struct AppendRun {
  history::History transactions;  ///< to be judged strictly
  history::History
      with_snapshots;  ///< the same and the snapshots between them: serializable, not strict; empty if there were none
  ClusterFigures elsewhere;  ///< of a node of a cluster: what its transactions did at others
};

using Clients = std::vector<std::unique_ptr<Client>>;

/// Reads every list, nobody else being there.
Status read_everything(Client& reader, const KeySlots& slots);
/// What the clients noted, in the order of time.
AppendRun merge(Clients& clients);

/// Makes the table "lists" in `database` and runs; ends with a quiet read of every key. `stop` is asked between transactions.
Result<AppendRun> run_append(Database& database, const AppendOptions& options, const std::atomic<bool>* stop = nullptr);

}  // namespace granary::bench::append
