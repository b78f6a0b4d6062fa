#include "bench/cluster/recovery_watch.h"

#include <algorithm>
#include <utility>

#include "src/base/tsc_clock.h"

namespace granary::bench::cluster {

using membership::Configuration;
using membership::Member;
using membership::MemberState;
using membership::Owed;
using membership::RecoveryPhase;

std::string_view name(RecoveryStep step) {
  constexpr std::string_view kNames[] = {"noticed", "quiet", "claimed", "settled", "recovered", "joins", "serves"};
  return kNames[static_cast<std::size_t>(step)];
}

std::string_view meaning(RecoveryStep step) {
  constexpr std::string_view kMeanings[] = {"death noticed",        "cut off, survivors quiet", "recovery claimed",
                                            "its locks are gone",   "recovered: nothing owed",  "the node joins again",
                                            "the node serves again"};
  return kMeanings[static_cast<std::size_t>(step)];
}

/// Returns the last step that the configuration shows. All earlier ones have been passed as well.
std::optional<RecoveryStep> StepObserver::last_step(const Configuration& configuration) const {
  const Member* const member = configuration.find(victim_);
  if (member == nullptr || life_ == 0) return std::nullopt;
  if (member->generation > life_ && member->state == MemberState::kServing) return RecoveryStep::kServes;
  const Owed* const owed = configuration.debt(victim_, life_);
  if (owed != nullptr) {
    if (owed->phase == RecoveryPhase::kAdopting) return RecoveryStep::kSettled;
    if (owed->claimed_generation != 0) return RecoveryStep::kClaimed;
    const bool anybody = std::ranges::any_of(configuration.members,
                                             [](const Member& other) { return other.state == MemberState::kServing; });
    return anybody && configuration.quiet_since(owed->number) ? RecoveryStep::kQuiet : RecoveryStep::kNoticed;
  }
  if (member->generation > life_ && member->live()) return RecoveryStep::kJoins;
  return member->generation == life_ && member->live() ? std::nullopt
                                                       : std::optional<RecoveryStep>(RecoveryStep::kRecovered);
}

void StepObserver::look(const Configuration& configuration, std::uint64_t now_ns) {
  const Member* const member = configuration.find(victim_);
  if (life_ == 0 && member != nullptr && member->state == MemberState::kServing) life_ = member->generation;
  const auto last = last_step(configuration);
  if (!last) return;
  for (std::size_t step = 0; step <= static_cast<std::size_t>(*last); ++step) {
    if (times_[step] == 0) times_[step] = now_ns;
  }
}

RecoveryWatch::RecoveryWatch(std::unique_ptr<membership::Board> board, membership::NodeId victim)
    : board_(std::move(board)),
      observer_(victim) {
  look();
  thread_ = std::thread([this] { run(); });
}

/// Looks at the board. A board that cannot be read now may be read later.
void RecoveryWatch::look() {
  const auto document = board_->read();
  if (!document.ok() || document->version == version_) return;
  const auto configuration = membership::configuration_of(document->text);
  if (configuration.ok()) observer_.look(*configuration, base::monotonic_ns());
  version_ = document->version;
}

void RecoveryWatch::run() {
  constexpr std::uint64_t kLookUs = 2'000;
  while (!stopping_.load(std::memory_order_relaxed)) {
    board_->wait(kLookUs);
    look();
  }
}

const StepTimes& RecoveryWatch::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  board_->wake();
  if (thread_.joinable()) thread_.join();
  return observer_.times();
}

}  // namespace granary::bench::cluster
