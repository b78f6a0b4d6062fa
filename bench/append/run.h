#pragma once
// Runs list-append clients on real threads against a database and returns the history.

#include <functional>
#include <memory>
#include <vector>

#include <granary/granary.h>

#include "bench/append/client.h"

namespace granary::bench::append {

struct AppendRun {
  history::History transactions;  ///< to be judged strictly
  Status ended;                   ///< why it could not come to its end, with a history up to there
  /// With the snapshots between them: serializable, not strict; empty if there were none.
  history::History with_snapshots;
};

using Clients = std::vector<std::unique_ptr<Client>>;

/// Reads every list, nobody else being there. Goes on after lists that cannot be read, and returns why the first of
/// them cannot.
Status read_everything(Client& reader, const KeySlots& slots);
/// How the table of lists is laid out for these options.
ListLayout layout_for(const AppendOptions& options);
/// What the clients noted, in the order of time.
AppendRun merge(Clients& clients);
/// Takes a history apart that is in the order of time.
AppendRun runs_of(history::History all);

/// Makes the table "lists" in `database` and runs; ends with a quiet read of every key. `stop` is asked between
/// transactions. `journal` gets all events as they happen; if it cannot write them, the run ends with its error.
Result<AppendRun> run_append(Database& database, const AppendOptions& options, const std::function<bool()>& stop = {},
                             Journal* journal = nullptr);

}  // namespace granary::bench::append
