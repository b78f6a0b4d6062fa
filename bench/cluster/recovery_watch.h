#pragma once
// Observes in a cluster's membership when the recovery of a killed node comes to each step. It looks from outside, as
// the process that has started the nodes is no member.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "cluster_config/membership/board.h"

namespace granary::bench::cluster {

/// The steps, in the order in which they are passed.
enum class RecoveryStep : std::uint8_t {
  kNoticed,    ///< the membership counts the node as dead
  kQuiet,      ///< all survivors have cut it off, and have ended what they had begun before
  kClaimed,    ///< a node recovers it
  kSettled,    ///< nothing is locked any more on its behalf at other nodes
  kRecovered,  ///< its log holds what it had done, and it owes nothing
  kJoins,      ///< its next life has joined
  kServes,     ///< its next life serves
};
inline constexpr std::size_t kRecoverySteps = 7;
std::string_view name(RecoveryStep step);     ///< "noticed": for JSON
std::string_view meaning(RecoveryStep step);  ///< in words for people

/// When each step was first seen (CLOCK_MONOTONIC); 0 if it was not.
using StepTimes = std::array<std::uint64_t, kRecoverySteps>;

/// Finds the steps in one configuration after another.
class StepObserver {
 public:
  explicit StepObserver(membership::NodeId victim) : victim_(victim) {}
  /// Looks at the next configuration. Steps that were passed between two looks have the time of the later one. The life
  /// that is meant is the one that serves in the first configuration.
  void look(const membership::Configuration& configuration, std::uint64_t now_ns);
  const StepTimes& times() const { return times_; }

 private:
  std::optional<RecoveryStep> last_step(const membership::Configuration& configuration) const;

  const membership::NodeId victim_;
  membership::Generation life_ = 0;  ///< the life that is killed; 0: not known yet
  StepTimes times_{};
};

/// Looks at a board from a thread of its own, until it is stopped.
class RecoveryWatch {
 public:
  RecoveryWatch(std::unique_ptr<membership::Board> board, membership::NodeId victim);
  ~RecoveryWatch() { stop(); }
  RecoveryWatch(const RecoveryWatch&) = delete;
  RecoveryWatch& operator=(const RecoveryWatch&) = delete;
  /// Stops the looks, and returns the times of the steps that were seen.
  const StepTimes& stop();

 private:
  void look();
  void run();

  const std::unique_ptr<membership::Board> board_;
  StepObserver observer_;
  std::uint64_t version_ = 0;          ///< the version of the document that was looked at last
  std::atomic<bool> stopping_{false};  // relaxed: it hands nothing over
  std::thread thread_;
};

}  // namespace granary::bench::cluster
