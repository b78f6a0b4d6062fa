#pragma once
// BoardSilence tells of a board that does not answer: at first, every kWarnEvery_us, and when it answers again. Nothing
// is lost meanwhile, because the fence shuts when its time is up; but nobody else would say why the node does not
// commit.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/fence.h"

namespace granary::membership {

/// How often a silent board is spoken of.
inline constexpr std::uint64_t kWarnEvery_us = 10'000'000;

/// It is used by the thread that steps the membership, and by no other.
class BoardSilence {
 public:
  BoardSilence(std::string board, NodeId node) : board_(std::move(board)), node_(node) {}

  /// Notes how the board was used just now, and returns what there is to be told.
  std::optional<std::string> note(const Status& used, const Fence& fence);
  /// True if it was told that the board does not answer, and not yet that it answers again.
  bool told() const { return warned_us_ != 0; }

 private:
  const std::string board_;  ///< its name
  const NodeId node_;
  std::uint64_t heard_us_ = 0;   ///< when the board was last used
  std::uint64_t warned_us_ = 0;  ///< when it was last said that it cannot be; 0: it can
};

}  // namespace granary::membership
