#include "src/db/cluster_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "recovery/cluster_cut.h"
#include "src/db/storage.h"

namespace granary::db {
namespace {

using Storages = std::vector<std::unique_ptr<Storage>>;

/// Locks and scans the directories of the nodes that have data.
Result<Storages> open_all(std::span<const Options> nodes, base::FileSystem& files) {
  Storages storages;
  for (const Options& options : nodes) {
    const auto manifest = recovery::read_manifest(files, options.directory);
    if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) continue;
    auto storage = Storage::open(options, files, {.recovers_all = true});
    if (!storage.ok()) return storage.status();
    storages.push_back(std::move(*storage));
  }
  return storages;
}

}  // namespace

Result<ClusterRecoveryReport> recover_cluster(std::span<const Options> nodes, base::FileSystem& files) {
  auto storages = open_all(nodes, files);
  if (!storages.ok()) return storages.status();
  std::vector<recovery::NodeLogState> states;
  for (const auto& storage : *storages) states.push_back(storage->recovery().log_state());
  if (const auto lacks = recovery::short_of_released(states); lacks && !(*storages)[*lacks]->salvages()) {
    const std::string& directory = (*storages)[*lacks]->directory();
    return recovery::lost_released(states, *lacks, fmt::format("'{}'", directory));
  }
  const epoch::Epoch first_epoch = recovery::first_epoch_after(states);
  const auto ends = recovery::agree_on_ends(states);
  ClusterRecoveryReport report;
  // Nodes that did not end in order come last: as long as one of them is left, the next start of a node takes up the
  // recovery again.
  for (const bool running : {false, true}) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (!ends[i].needed || states[i].running.has_value() != running) continue;
      Storage& storage = *(*storages)[i];
      if (const Status ended = storage.end(ends[i].cut, first_epoch); !ended.ok()) return ended;
      if (running) ++report.interrupted;
      report.cut = ends[i].cut;
      for (const std::string& note : storage.recovery().report().notes) report.notes.push_back(note);
    }
  }
  return report;
}

}  // namespace granary::db
