#pragma once
// Opens and closes a database directory: puts its parts together, and has the log of the running generation.
//
// Opening has these steps. A crash at any place leaves a directory that the next opening recovers to the same state.
//   1. Lock the directories and read the manifest.
//   2. Scan the logs, which gives the cut of the generation that was running.
//   3. Load the checkpoint and the logs (recovery().recover()).
//   4. Remove what nobody needs, which makes room.
//   5. Sync the ends of the logs of the generation that was running.
//   6. Make the new generation's log. Its first segment begins with what the rings had, synced.
//   7. Write the manifest with the cut and the new generation.
//   8. Say in the log that the manifest names it. Only then are the former rings removed, and is anything new logged.
// A log directory is in the manifest before there is a segment in it, so that the next opening finds what this one
// left. E goes on behind every epoch that any file names (DESIGN: epochs that were dropped never come back).

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
  /// Locks the directory, reads its manifest or makes a new one, and scans the logs. Returns kFailedPrecondition if the
  /// directory is a node's whose cluster has to be recovered first (cluster_recovery.h).
  static Result<std::unique_ptr<Storage>> open(const Options& options, base::FileSystem& files,
                                               const ClusterPart& part = {});

  /// Returns the manifest. Its tables have to be made, in the order of their ids, before recovery().recover().
  DurableManifest& manifest() { return manifest_; }
  DatabaseRecovery& recovery() { return recovery_; }
  /// Returns the checkpoints, which are taken after begin() only.
  Checkpoints& checkpoints() { return checkpoints_; }

  /// Scans all of the log again, including what ClusterPart::recent_log_only has left out.
  Status survey_whole() { return recovery_.survey_whole(directories_.settled()); }
  /// Begins the new generation and its log.
  Status begin(epoch::EpochManager& epochs);
  /// Ends the last generation that was begun, for a recovery (ClusterPart::recovers_all), which calls this instead of
  /// recovery().recover() and begin(). Epochs after `limit` are void; without a limit all of the generation counts,
  /// with its rings.
  Status end(std::optional<epoch::Epoch> limit, epoch::Epoch first_epoch);
  /// Notes in which epoch a node was let in. Until then its generation restricts nobody: it is empty, and its log does
  /// not say how far the cluster's logs count. From then on it is whole up to that epoch.
  Status note_admitted(epoch::Epoch epoch);
  /// Makes all transactions durable, which have ended, and closes the log. If locks at other nodes could not be given
  /// back, the rings stay and the generation is left as after a crash: the recovery of the node reads from the rings
  /// which locks these are.
  Status close();

  log::Log& log() { return *log_; }
  const std::string& directory() const { return options_.directory; }
  /// Whether the opening gives up what is lost (Options::salvage).
  bool salvages() const { return options_.salvage; }

 private:
  /// `options` have canonical paths.
  Storage(Options options, base::FileSystem& files, const ClusterPart& part);
  /// Whether the new generation is over as soon as it is there, as end() makes it. If so, the generation before it
  /// counts whole (kWhole), or up to where all nodes agreed to cut it (kCut).
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
