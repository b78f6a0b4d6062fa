#include "rdma/fiber/rounds.h"

#include <algorithm>
#include <utility>

#include "src/base/check.h"

namespace granary::rdma::fiber {
namespace {

void end(Step*& step, Failure failure) { std::exchange(step, nullptr)->fail(failure); }

}  // namespace

void Rounds::run(std::span<Step* const> steps) {
  open_.assign(steps.begin(), steps.end());
  for (std::uint32_t turn = 0; !open_.empty();) {
    pause_ = false;
    ++traffic_.rounds;
    round(open_);
    std::erase(open_, nullptr);
    if (pause_) waiter_.pause(turn++);
  }
}

void Rounds::start(std::span<Step* const> steps, Chains& chains) {
  open_.assign(steps.begin(), steps.end());
  for (std::span<Step*> open(open_); !open.empty();) {
    const std::span<Step*> mine = take_one_node(open);
    post(mine, chains);
    open = open.subspan(mine.size());
  }
  open_.clear();
}

/// Puts those that reach the same node as the first one to the front, and returns them.
std::span<Step*> Rounds::take_one_node(std::span<Step*> open) {
  const auto reaches = [node = open.front()->node()](const Step* step) { return step->node() == node; };
  auto others = std::find_if_not(open.begin(), open.end(), reaches);
  if (others != open.end()) others = std::stable_partition(others, open.end(), reaches);
  return {open.begin(), others};
}

/// Handles the nodes in turn, each inside of the call for the one before, so that all have been posted to when the last
/// one is waited for.
void Rounds::round(std::span<Step*> open) {
  if (open.empty()) return;
  const std::span<Step*> mine = take_one_node(open);
  Chains chains(scheduler_, endpoint_);
  post(mine, chains);
  round(open.subspan(mine.size()));
  const bool done = chains.wait();
  for (Step*& step : mine) {
    if (step == nullptr) continue;
    if (!done) {
      end(step, Failure::kBroken);
      continue;
    }
    const Next next = step->interpret();
    if (next == Next::kEnded) step = nullptr;
    pause_ |= next == Next::kAfterPause;
  }
}

void Rounds::count(std::span<const Operation> chain) {
  for (const Operation& operation : chain) {
    switch (operation.kind) {
      case OperationKind::kRead:
        ++traffic_.reads;
        traffic_.read_bytes += operation.bytes;
        break;
      case OperationKind::kWrite: ++traffic_.writes; break;
      case OperationKind::kCompareSwap:
      case OperationKind::kFetchAdd: ++traffic_.compare_swaps; break;
    }
  }
}

/// An exception may have ended an earlier call, and nothing of its steps is posted any more.
void Rounds::post(std::span<Step*> steps, Chains& chains) {
  chain_.clear();
  parts_.clear();
  const std::optional<ConnectionId> connection = peers_.find(steps.front()->node());
  if (!connection) {
    for (Step*& step : steps) end(step, Failure::kBroken);
    return;
  }
  const Generation life = peers_.generation(steps.front()->node());
  const std::size_t most = peers_.endpoint().limits().chain_length;
  for (Step*& step : steps) {
    if (step->generation() != life) {
      end(step, Failure::kStale);
      continue;
    }
    const std::size_t before = chain_.size();
    step->append(chain_);
    if (chain_.size() > most) {
      post_parts(*connection, chains);
      chain_.erase(chain_.begin(), chain_.begin() + static_cast<std::ptrdiff_t>(before));
    }
    parts_.push_back({&step, chain_.size()});
  }
  post_parts(*connection, chains);
}

/// Posts all parts in one chain. Only if that is refused does it ask whose address leads nowhere, or between two words;
/// then each part goes alone.
void Rounds::post_parts(ConnectionId connection, Chains& chains) {
  const auto post = [&](std::size_t from, std::size_t to) {
    const PostResult result = chains.post(connection, std::span(chain_).subspan(from, to - from));
    const bool refused = result == PostResult::kInvalidRemote || result == PostResult::kInvalidChain;
    base::always_check(refused || result == PostResult::kPosted || result == PostResult::kBroken,
                       "the buffers of steps lie in registered memory");
    return !refused;
  };
  if (parts_.empty()) return;
  count(std::span(chain_).first(parts_.back().end));
  if (!post(0, parts_.back().end)) {
    std::size_t from = 0;
    for (const Part& part : parts_) {
      if (!post(from, part.end)) end(*part.step, Failure::kRefused);
      from = part.end;
    }
  }
  parts_.clear();
}

}  // namespace granary::rdma::fiber
