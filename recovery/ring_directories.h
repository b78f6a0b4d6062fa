#pragma once
// Lists directories of log rings in memory, whose databases may run, wait to be opened again, or be gone, and removes
// those that no database needs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/owner.h"

namespace granary::recovery {

enum class RingUse : std::uint8_t {
  kRunning,  ///< a process has its database open
  kWaiting,  ///< its database is there, and takes the rings when it is opened
  kOrphan,   ///< its database is not at its place any more, or is another instance by now
};

struct RingDirectory {
  std::string path;
  std::optional<Owner> owner;  ///< none: the process that made it died before it wrote whose it is
  std::uint64_t rings = 0;
  std::uint64_t bytes = 0;  ///< the size of all files in it
  RingUse use = RingUse::kOrphan;
  std::string why;  ///< a few words for users
};

/// Lists this user's directories of rings in the parent directory, sorted. An error is one of reading the parent.
Result<std::vector<RingDirectory>> list_ring_directories(const std::string& parent);

/// Removes the directory with all rings in it. Returns kUnavailable if a process has it open. If there are files that
/// are not a database's, they and the directory stay.
Status remove_ring_directory(const std::string& path);

}  // namespace granary::recovery
