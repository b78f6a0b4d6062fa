#pragma once
// Members whose marks are missing, and since when. A member is dead once its fence must have shut.

#include <cstdint>
#include <map>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/configuration.h"

namespace granary::membership {

/// Its functions are called within edits of the configuration, which only one thread makes at a time, so it has no lock.
class MissingMarks {
 public:
  /// Whether the member's mark has been missing for so long that its fence has shut, which was last extended before the mark went.
  /// `fence_lasts_us`: Board::fence_lasts_us().
  bool is_over(const Member& member, const Marks& marks, std::uint64_t fence_lasts_us);

  /// This node's fence, which a silent board had shut, is open again.
  void note_reopening(std::uint64_t now_us) { reopened_us_ = now_us; }
  /// Returns a member that lives in `before` and is dead in `now`, and died of the silence after which this node's fence opened again;
  /// nullptr if there is none. A board that was silent for all lets go of some members soon after it is back.
  const Member* victim_of_silence(const Configuration& before, const Configuration& now,
                                  std::uint64_t fence_lasts_us) const;

 private:
  struct Missed {
    Generation generation;
    std::uint64_t since_us;
  };
  std::map<NodeId, Missed> missed_;  ///< since they were found without a mark
  std::uint64_t reopened_us_ = 0;    ///< 0: never
};

}  // namespace granary::membership
