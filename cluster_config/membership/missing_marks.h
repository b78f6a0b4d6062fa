#pragma once
// Keeps the members whose marks are missing, and since when. A member is dead once its fence must have shut.

#include <cstdint>
#include <map>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/configuration.h"

namespace granary::membership {

/// The missing marks. The functions are called within edits of the configuration, which only one thread makes at a
/// time, so there is no lock.
class MissingMarks {
 public:
  /// Whether the member's mark has been missing for so long that its fence has shut, which was last extended before the
  /// mark went. `fence_lasts_us` is Board::fence_lasts_us().
  bool is_over(const Member& member, const Marks& marks, std::uint64_t fence_lasts_us);

 private:
  struct Missed {
    Generation generation;
    std::uint64_t since_us;
  };
  std::map<NodeId, Missed> missed_;  ///< with the time when they were found without a mark
};

}  // namespace granary::membership
