#pragma once
// Looks at a database's log before an opening changes anything: the segments, the rings of the process that died, and
// whether they fit. Tools that only look use it, too.
//
// A ring holds what its logger had not synced yet, and says up to where the log was synced. A log that can be read only
// up to a place before that has lost what stands between, although the ring is whole: a disk that gave up what it had
// synced, or another disk.

#include <granary/status.h>

#include "recovery/log_scan.h"
#include "recovery/settle.h"
#include "recovery/surviving_rings.h"

namespace granary::recovery {

struct LogSurvey {
  LogScan scan;  ///< `greatest_epoch` and `losses` are also those of the rings
  SurvivingRings rings;
  bool whole = true;  ///< all of the log was looked at
};

/// kDamaged, naming file, offset, cause and epochs, if anything is not there that was durable, or that a ring goes on
/// from, unless `options` say to salvage; other codes if a directory or file cannot be read, or the rings' directory is
/// open to others. `manifest` is the settled database's.
Result<LogSurvey> survey_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                             const ScanOptions& options);

/// Looks only at the part of the log that the rings go on from: of each logger, in the last generation, the segments
/// from the one on up to which the log was synced when one of its rings gave room last. Those before are neither read
/// nor missed, so a longer log takes no longer. Its greatest epoch is no less than that of survey_log(), and at most
/// log::kAheadOfMarker greater.
Result<LogSurvey> survey_recent_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                                    const ScanOptions& options);

}  // namespace granary::recovery
