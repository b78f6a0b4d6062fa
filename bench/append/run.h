#pragma once
// Runs list-append clients on real threads against a database and returns the history.

#include <functional>
#include <memory>
#include <vector>

#include <granary/granary.h>

#include "bench/append/client.h"

namespace granary::bench::append {

struct AppendRun {
  history::History transactions;  ///< the transactions to be judged strictly
  Status ended;                   ///< why the run could not come to its end; the history is good up to there
  /// The history with snapshots, which is serializable but not strictly; empty if there were no snapshots.
  history::History with_snapshots;
};

using Clients = std::vector<std::unique_ptr<Client>>;

/// Reads every list while no other client runs. Goes on after lists that cannot be read, and returns why the first of
/// them cannot.
Status read_everything(Client& reader, const KeySlots& slots);
/// Returns the layout of the table of lists for these options.
ListLayout layout_for(const AppendOptions& options);
/// Returns the events of the clients, in the order of time.
AppendRun merge(Clients& clients);
/// Takes a history apart that is in the order of time.
AppendRun runs_of(history::History all);

/// Makes the table "lists" in `database` and runs; ends with a quiet read of every key. `stop` is asked between
/// transactions. `journal` gets all events as they happen; if it cannot write them, the run ends with its error.
Result<AppendRun> run_append(Database& database, const AppendOptions& options, const std::function<bool()>& stop = {},
                             Journal* journal = nullptr);

}  // namespace granary::bench::append
