#pragma once
// Tells of a board that does not answer: at first, every kWarnEvery_us, and when it answers again. Nothing is lost
// meanwhile, because the fence shuts when its time is up. But otherwise a user would not know why the node does not
// commit.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/fence.h"

namespace granary::membership {

/// How often it warns of a silent board.
inline constexpr std::uint64_t kWarnEvery_us = 10'000'000;

/// The silence of one board. Only the thread that steps the membership uses it.
class BoardSilence {
 public:
  BoardSilence(std::string board, NodeId node) : board_(std::move(board)), node_(node) {}

  /// Notes how the board was used just now. Returns what to tell, if there is something.
  std::optional<std::string> note(const Status& used, const Fence& fence);
  /// Whether the last warning says that the board does not answer.
  bool told() const { return warned_us_ != 0; }

 private:
  const std::string board_;  ///< its name
  const NodeId node_;
  std::uint64_t heard_us_ = 0;   ///< when the board was last used
  std::uint64_t warned_us_ = 0;  ///< when it last warned; 0: the board answers
};

}  // namespace granary::membership
