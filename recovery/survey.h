#pragma once
// Surveys a database's log before an opening changes anything: the segments, the rings of the process that died, and
// whether they fit together. Tools that only look use it, too.
//
// A ring holds entries that its logger had not synced yet, and says up to where the log was synced. If the log can be
// read only up to an earlier place, the entries between the two are lost, even if the ring is whole: the disk gave up
// what it had synced, or it is another disk.

#include <granary/status.h>

#include "recovery/log_scan.h"
#include "recovery/settle.h"
#include "recovery/surviving_rings.h"

namespace granary::recovery {

struct LogSurvey {
  LogScan scan;  ///< `greatest_epoch` and `losses` include those of the rings
  SurvivingRings rings;
  bool whole = true;  ///< whether all of the log was looked at
};

/// Surveys the log. Returns kDamaged, naming file, offset, cause and epochs, if anything is missing that was durable,
/// or that a ring goes on from, unless `options` say to salvage. Returns other codes if a directory or file cannot be
/// read, or if the rings' directory is open to others. `manifest` is the settled database's.
Result<LogSurvey> survey_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                             const ScanOptions& options);

/// Surveys only the part of the log that the rings go on from. Of each logger, in the last generation, these are the
/// segments from the one on up to which the log was synced when one of its rings gave room last. Earlier segments are
/// neither read nor missed, so a longer log takes no longer. The greatest epoch is no less than that of survey_log(),
/// and at most log::kAheadOfMarker greater.
Result<LogSurvey> survey_recent_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                                    const ScanOptions& options);

}  // namespace granary::recovery
