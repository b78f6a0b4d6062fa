#pragma once
// Finds the log rings of a process that died, as they lie in reliable memory. Looking for them changes nothing.
//
// Rings count only if they are of the generation that was running, of this boot, and none is missing. Then they and the
// log files together hold everything that committed.

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
  std::string note;                               ///< says why rings do not count although there are some; else empty

  /// Returns the entries of the rings. They are valid as long as `rings` are.
  std::vector<RingEntries> entries() const;
};

/// Whether the name is a ring's, such as "ring-0007". A creation that was killed leaves "ring-0007.new", which is no
/// ring.
bool is_ring_name(std::string_view name);

/// Finds the rings. Returns kDamaged if a file in a ring's place is not of this database; kUnavailable if the boot id
/// cannot be read.
Result<SurvivingRings> find_rings(const Manifest& manifest);

/// Returns the latest generation of any ring in the manifest's directory; 0 if there are none of this boot.
Result<std::uint64_t> greatest_ring_generation(const Manifest& manifest);

}  // namespace granary::recovery
