#pragma once
// Makes the end of a log durable whose process has died: that end may be in the system's memory alone.

#include <cstdint>

#include <granary/status.h>

#include "recovery/survey.h"
#include "src/base/file.h"

namespace granary::recovery {

/// Puts the last segment of a logger on the device as it reads, up to its end. The process's syncs do not help: if one
/// failed, the system may show bytes that the device never got, and count them as clean. So they are written once more.
///
/// If a ring of the logger says how far the log had been synced (docs/decisions/rings-until-synced.md), only the bytes
/// after that are written, with zeros over a torn tail. A crash meanwhile leaves the same bytes, and the tail or less
/// of it. If no ring says so, the whole segment is replaced, and ends where the tail began.
Status rewrite_end(base::FileSystem& files, const LogSurvey& survey, const LogSegment& segment, std::uint64_t end);

}  // namespace granary::recovery
