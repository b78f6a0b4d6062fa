#pragma once
// The log rings of the process that died, as they lie in reliable memory. Looking for them changes nothing.
//
// They count only if they are of the generation that was running, of this boot, and none is missing: then what the log
// files and they hold together is everything that committed.

#include <memory>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "recovery/replay.h"
#include "src/log/ring.h"

namespace granary::recovery {

struct SurvivingRings {
  std::vector<std::unique_ptr<log::Ring>> rings;  ///< by worker; empty if they do not count
  std::string note;                               ///< why they do not although there are some; else empty

  /// Valid as long as `rings` are.
  std::vector<RingEntries> entries() const;
};

/// "ring-0007" and nothing else: a creation that was killed leaves "ring-0007.new", which is none.
bool is_ring_name(std::string_view name);

/// kDamaged if something is in a ring's place that is none of this database; kUnavailable if the boot id cannot be
/// read.
Result<SurvivingRings> find_rings(const Manifest& manifest);

/// The latest generation that any ring in the manifest's directory is of; 0 if there are none of this boot.
Result<std::uint64_t> greatest_ring_generation(const Manifest& manifest);

}  // namespace granary::recovery
