// A survivor's duties after lives have ended: it cuts off, then acts, then waits until it is quiet, and only then says
// so.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership_thread.h"
#include "src/node/survivor.h"

namespace granary::db {
namespace {

using membership::Configuration;
using membership::Membership;
using membership::NodeId;
using testing::ElementsAre;

constexpr std::uint64_t kPatience_us = 30'000'000;

membership::MembershipOptions options_of(NodeId id) {
  return {.node = id, .cluster = "bank", .fingerprint = 1, .address = "here"};
}

/// A node that survives, and another one that may die.
class SurvivorTest : public testing::Test {
 protected:
  SurvivorTest() {
    membership::Membership::Listener listener;
    listener.changed = [this](const Configuration& configuration) { follow(configuration); };
    own_ = Membership::join(std::make_unique<membership::MemoryBoard>(place_), options_of(1), listener).value();
    other_ = Membership::join(std::make_unique<membership::MemoryBoard>(place_), options_of(2), {}).value();
    EXPECT_TRUE(own_->serve().ok());
    survivor_ = std::make_unique<Survivor>(
        *own_, epochs_,
        SurvivorDuties{
            .cut_off =
                [this](NodeId node, membership::Generation last) {
                  note("cuts off " + std::to_string(node) + "." + std::to_string(last));
                  return cuttable_ ? Status() : Status(StatusCode::kUnavailable, "it does not end");
                },
            .act = [this](const Configuration& found) { note(found.owed.empty() ? "acts" : "acts in debt"); },
            .follow = [](const Configuration&) { return false; },
            .durable = [this] { return durable_.load(); },
            .warn = [this](const std::string& text) { note(text); }});
    thread_ = std::make_unique<membership::MembershipThread>(*own_);
    follow(*own_->configuration());
  }
  ~SurvivorTest() override {
    thread_.reset();
    survivor_.reset();
  }

  void follow(const Configuration& configuration) {
    if (survivor_ != nullptr) survivor_->follow(configuration);
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(what);
  }
  std::vector<std::string> notes() {
    const std::lock_guard lock(mutex_);
    return std::exchange(notes_, {});
  }
  bool becomes(const std::function<bool(const Configuration&)>& holds) { return own_->wait_until(holds, kPatience_us); }
  /// Lets epochs go on until this node has said that it is quiet in the present membership, and returns of which epoch.
  std::uint64_t quiet_epoch() {
    const auto is_quiet = [](const Configuration& found) { return found.find(1)->quiet.number == found.number; };
    constexpr std::uint64_t kTick_us = 5'000;
    for (std::uint64_t waited_us = 0; waited_us < kPatience_us; waited_us += kTick_us) {
      epochs_.tick();
      if (own_->wait_until(is_quiet, kTick_us)) return own_->configuration()->find(1)->quiet.epoch;
    }
    ADD_FAILURE() << "it does not become quiet";
    return 0;
  }
  void die() {
    place_->remove_mark(2);
    EXPECT_TRUE(becomes([](const Configuration& found) { return found.owes(2); }));
  }
  static void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  const std::shared_ptr<membership::MemoryPlace> place_ = std::make_shared<membership::MemoryPlace>();
  epoch::EpochManager epochs_{{.first_epoch = 10}};
  std::atomic<bool> cuttable_{true};
  std::atomic<epoch::Epoch> durable_{0};
  std::mutex mutex_;
  std::vector<std::string> notes_;  ///< guarded by mutex_
  std::unique_ptr<Membership> own_, other_;
  std::unique_ptr<Survivor> survivor_;
  std::unique_ptr<membership::MembershipThread> thread_;
};

TEST_F(SurvivorTest, CutsOffBeforeItActs) {
  EXPECT_GT(quiet_epoch(), 0u);
  EXPECT_THAT(notes(), ElementsAre("acts"));
  die();
  (void)quiet_epoch();
  EXPECT_THAT(notes(), ElementsAre("cuts off 2.1", "acts in debt"));
}

TEST_F(SurvivorTest, ActsNotWhileTheDeadCannotBeCutOff) {
  (void)quiet_epoch();
  (void)notes();
  cuttable_ = false;
  die();
  rest();
  EXPECT_LT(own_->configuration()->find(1)->quiet.number, own_->configuration()->number);
  for (const std::string& told : notes()) EXPECT_THAT(told, testing::Not(testing::HasSubstr("acts")));
  cuttable_ = true;
  (void)quiet_epoch();
  const std::vector<std::string> told = notes();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), "acts in debt");
}

/// Where no transaction is open, one that is about to be written may still be of the epoch in which the death was
/// known.
TEST_F(SurvivorTest, IsQuietOnlyWhenTheEpochHasPassed) {
  (void)quiet_epoch();
  die();
  rest();
  EXPECT_LT(own_->configuration()->find(1)->quiet.number, own_->configuration()->number);
  EXPECT_GT(quiet_epoch(), 0u);
}

/// A transaction of an earlier membership may have passed its last question, and is yet to be written to the log.
TEST_F(SurvivorTest, IsQuietOnlyWhenTransactionsOfEarlierMembershipsHaveEnded) {
  (void)quiet_epoch();
  epoch::Slot* const slot = epochs_.acquire_slot();
  epochs_.enter(*slot);
  die();
  rest();
  epochs_.tick();
  epochs_.tick();
  rest();
  EXPECT_LT(own_->configuration()->find(1)->quiet.number, own_->configuration()->number);
  epochs_.leave(*slot);
  (void)quiet_epoch();
  epochs_.release_slot(slot);
}

/// Whoever joins takes from the log what was written to its records, so it must be there.
TEST_F(SurvivorTest, SaysWhenItsLogHasThemToWhoJoins) {
  const std::uint64_t epoch = quiet_epoch();
  rest();
  EXPECT_FALSE(own_->configuration()->find(1)->quiet.logged) << "node 2 joins";
  durable_ = epoch;
  EXPECT_TRUE(becomes([](const Configuration& found) { return found.find(1)->quiet.logged; }));
}

TEST_F(SurvivorTest, SaysAgainThatItsLogHasThemIfNobodyHeard) {
  const std::uint64_t epoch = quiet_epoch();
  (void)notes();
  place_->set_reachable(false);
  durable_ = epoch;
  const auto has_failed = [this] {
    const std::lock_guard lock(mutex_);
    return !notes_.empty();
  };
  while (!has_failed()) rest();
  place_->set_reachable(true);
  EXPECT_TRUE(becomes([](const Configuration& found) { return found.find(1)->quiet.logged; }));
}

TEST_F(SurvivorTest, ADeadLifeIsCutOffOnce) {
  (void)quiet_epoch();
  die();
  (void)quiet_epoch();
  (void)notes();
  auto third = Membership::join(std::make_unique<membership::MemoryBoard>(place_), options_of(3), {});
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(becomes([](const Configuration& found) { return found.lives(3); }));
  (void)quiet_epoch();
  EXPECT_THAT(notes(), ElementsAre("acts in debt"));
}

}  // namespace
}  // namespace granary::db
