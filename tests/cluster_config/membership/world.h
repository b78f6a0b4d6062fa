#pragma once
// The suite's view of a kind of board: a place of its own for each case, at which members meet.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/membership_thread.h"

namespace granary::membership::tests {

class World {
 public:
  virtual ~World() = default;
  virtual Result<std::unique_ptr<Board>> open() = 0;
  /// After which a member whose process stands still is removed. For boards that are opened from then on.
  void set_timeout_us(std::uint64_t timeout_us) { timeout_us_ = timeout_us; }
  std::uint64_t timeout_us() const { return timeout_us_; }
  /// Removes all that members left there, while some run.
  virtual void wipe() = 0;

 private:
  std::uint64_t timeout_us_ = 60'000'000;  // nobody is removed in other cases because the machine is busy
};
/// Empty if the kind cannot be had here; then the case is to be skipped.
std::unique_ptr<World> make_world();

inline MembershipOptions options_of(NodeId node) {
  return {.node = node,
          .cluster = "bank",
          .fingerprint = 0x1234,
          .address = "127.0.0.1:" + std::to_string(7000 + node),
          .known_cluster_id = 0,
          .lowest_generation = 1};
}

/// Long enough for anything that is to happen on a busy machine.
inline constexpr std::uint64_t kPatienceUs = 30'000'000;

/// A member with its thread. Destroyed without leave(), it dies.
class Node {
 public:
  Node(World& world, const MembershipOptions& options, Membership::Listener listener = {}) {
    Result<std::unique_ptr<Board>> board = world.open();
    EXPECT_TRUE(board.ok()) << board.status().message();
    if (!board.ok()) return;
    Result<std::unique_ptr<Membership>> joined = Membership::join(std::move(*board), options, std::move(listener));
    status_ = joined.status();
    if (!joined.ok()) return;
    membership_ = std::move(*joined);
    thread_.emplace(*membership_);
  }
  Node(World& world, NodeId node) : Node(world, options_of(node)) { EXPECT_TRUE(joined()) << status_.message(); }

  bool joined() const { return membership_ != nullptr; }
  /// Of joining.
  const Status& status() const { return status_; }
  Membership* operator->() { return membership_.get(); }

  /// Waits until this member has another in that state.
  [[nodiscard]] bool sees(NodeId id, MemberState state) {
    return membership_->wait_until(
        [=](const Configuration& configuration) {
          const Member* const member = configuration.find(id);
          return member != nullptr && member->state == state;
        },
        kPatienceUs);
  }
  /// Waits until the membership is lost.
  [[nodiscard]] bool is_lost() {
    (void)membership_->wait_until([](const Configuration&) { return false; }, kPatienceUs);
    return membership_->status().code() == StatusCode::kMembershipLost;
  }

 private:
  std::unique_ptr<Membership> membership_;
  std::optional<MembershipThread> thread_;
  Status status_;
};

/// A case of the suite.
class MembershipSuite : public testing::Test {
 protected:
  void SetUp() override {
    world_ = make_world();
    if (!world_) GTEST_SKIP() << "this kind of membership cannot be had here";
  }
  World& world() { return *world_; }

 private:
  std::unique_ptr<World> world_;
};

}  // namespace granary::membership::tests
