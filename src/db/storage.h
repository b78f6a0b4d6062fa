#pragma once
// A database directory in use: its parts put together, and the log of the running generation.
//
// Opening goes in this order, so that a crash at any place leaves what the next opening can recover to the same state:
// lock; read the manifest; scan the logs, which gives the cut of the generation that was running; load checkpoint and
// logs; remove what nobody needs, which makes room; what the rings had is written to a segment of that generation and
// synced; write the manifest with the cut and the new generation; only then begin the new log. A log directory is in
// the manifest before there is a segment in it, so that the next opening finds what this one left. E goes on behind
// every epoch that any file names (DESIGN: epochs that were dropped never come back).

#include <memory>
#include <optional>
#include <vector>

#include <granary/options.h>

#include "src/base/file.h"
#include "src/db/checkpoints.h"
#include "src/db/cluster_part.h"
#include "src/db/database_recovery.h"
#include "src/db/directories.h"
#include "src/db/durable_manifest.h"
#include "src/log/log.h"

namespace granary::db {

class Storage {
 public:
  /// Locks the directory, reads its manifest or makes it, scans the logs.
  /// kFailedPrecondition if it is of a node whose cluster has to be recovered first (cluster_recovery.h).
  static Result<std::unique_ptr<Storage>> open(const Options& options, base::FileSystem& files,
                                               const ClusterPart& part = {});

  /// The tables to make are those of its manifest, in the order of their ids, before recovery().recover().
  DurableManifest& manifest() { return manifest_; }
  DatabaseRecovery& recovery() { return recovery_; }
  /// After begin().
  Checkpoints& checkpoints() { return checkpoints_; }

  /// Looks at all of the log where ClusterPart::recent_log_only has left something out.
  Status survey_whole() { return recovery_.survey_whole(directories_.settled()); }
  /// Begins the new generation and its log.
  Status begin(epoch::EpochManager& epochs);
  /// Of a node whose whole cluster is recovered: instead of recovery().recover() and begin(), ends the last generation
  /// that was begun. `limit`: its epochs after that are void; none: all of it counts, with its rings.
  Status end(std::optional<epoch::Epoch> limit, epoch::Epoch first_epoch);
  /// Notes in which epoch a node that has come back was let in. Before that its generation restricts nobody: it is
  /// empty, and its log says nothing of how far the cluster's logs count. From then on it is whole up to that epoch.
  Status note_admitted(epoch::Epoch epoch);
  /// All transactions have ended: makes them durable. If locks at other nodes could not be given back, the generation
  /// goes on as after a crash: whoever recovers the node reads from its rings which ones they are.
  Status close();

  log::Log& log() { return *log_; }
  const std::string& directory() const { return options_.directory; }
  /// Whether what is lost is given up (Options::salvage).
  bool salvages() const { return options_.salvage; }

 private:
  /// `options` have canonical paths.
  Storage(Options options, base::FileSystem& files, const ClusterPart& part);
  /// A generation that is over as soon as it is there, after one that was cut where all nodes agreed, or was not.
  enum class Ended : std::uint8_t { kNo, kWhole, kCut };
  Status begin(const epoch::EpochManager& epochs, Ended ended);
  recovery::Generation next_generation(const epoch::EpochManager& epochs, Ended ended) const;
  Result<std::unique_ptr<log::Log>> open_log(const recovery::Generation& generation, const epoch::EpochManager& epochs,
                                             Ended ended);
  Status remove_garbage();
  Status adopt(const std::vector<recovery::Generation>& generations, const std::string& boot);
  Status end_generation(recovery::Generation& generation, bool agreed);
  Status note_clean_end();

  const Options options_;
  base::FileSystem& files_;
  const ClusterPart part_;
  DurableManifest manifest_{files_, options_.directory};
  Directories directories_{options_, files_, manifest_};
  DatabaseRecovery recovery_{options_, files_, part_, manifest_};
  Checkpoints checkpoints_{options_, files_, manifest_};
  std::unique_ptr<log::Log> log_;
};

}  // namespace granary::db
