#pragma once
// Cuts the epochs of a log into stretches, which are replayed one after the other if memory is scarce.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recovery/log_scan.h"
#include "src/epoch/epoch.h"

namespace granary::recovery {

/// The entries that a ring of a dead process still holds (log::Ring::pending()). `name` is for messages.
struct RingEntries {
  std::string name;
  std::string_view entries;
};

inline constexpr epoch::Epoch kNoLimit = ~epoch::Epoch{0};

/// The epochs whose transactions one pass through the log replays.
struct Stretch {
  epoch::Epoch first = 0;
  epoch::Epoch last = kNoLimit;
};

/// Divides the epochs into stretches of about so many bytes of unpacked log each, unless one epoch has more. The last
/// stretch has no end.
std::vector<Stretch> stretches(const LogScan& scan, std::span<const RingEntries> rings, epoch::Epoch from,
                               std::uint64_t bytes);

}  // namespace granary::recovery
