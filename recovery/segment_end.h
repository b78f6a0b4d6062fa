#pragma once
// The end of a log whose process has died: what stands there may be in the system's memory alone.

#include <cstdint>

#include <granary/status.h>

#include "recovery/survey.h"
#include "src/base/file.h"

namespace granary::recovery {

/// Puts the last segment of a logger on the device as it reads, up to its end, whatever became of the process's syncs:
/// if one failed, the system may show bytes that the device never got, and count them as clean. So they are written
/// once more.
///
/// Where a ring of the logger says how far the log had been synced (docs/decisions/rings-until-synced.md), only what
/// stands behind that is written, with zeros over a torn tail: a crash meanwhile leaves, byte by byte, the same, and
/// the tail or less of it. Else all of it is replaced, and ends where the tail began.
Status rewrite_end(base::FileSystem& files, const LogSurvey& survey, const LogSegment& segment, std::uint64_t end);

}  // namespace granary::recovery
