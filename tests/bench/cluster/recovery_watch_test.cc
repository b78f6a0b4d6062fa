// The steps of a recovery, told from the configurations that a board had one after another.

#include "bench/cluster/recovery_watch.h"

#include <chrono>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/memory_board.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::cluster {
namespace {

using membership::Configuration;
using membership::Generation;
using membership::MemberState;
using membership::RecoveryPhase;
using testing::ElementsAre;

constexpr membership::NodeId kVictim = 2;

/// Three nodes serve; the victim is in its fourth life.
Configuration all_serve() {
  Configuration configuration;
  configuration.cluster = "test";
  configuration.cluster_id = 7;
  configuration.version = 1;
  configuration.number = 6;
  for (membership::NodeId id = 1; id <= 3; ++id) {
    membership::Member& member = configuration.add(id);
    member.generation = 4;
    member.state = MemberState::kServing;
    member.quiet.number = 6;
  }
  return configuration;
}

void die(Configuration& configuration) {
  configuration.number = 7;
  configuration.find(kVictim)->state = MemberState::kDead;
  configuration.owed = {{.node = kVictim, .generation = 4, .number = 7}};
}

void be_quiet(Configuration& configuration) {
  for (const membership::NodeId id : {1, 3}) configuration.find(id)->quiet.number = 7;
}

void claim(Configuration& configuration, RecoveryPhase phase) {
  configuration.owed[0].phase = phase;
  configuration.owed[0].claimed_by = 1;
  configuration.owed[0].claimed_generation = 4;
}

void begin_life(Configuration& configuration, Generation generation, MemberState state) {
  configuration.find(kVictim)->generation = generation;
  configuration.find(kVictim)->state = state;
}

TEST(RecoverySteps, EachHasTheTimeAtWhichItWasSeen) {
  StepObserver observer(kVictim);
  Configuration configuration = all_serve();
  observer.look(configuration, 10);
  EXPECT_THAT(observer.times(), testing::Each(0u));
  die(configuration);
  observer.look(configuration, 20);
  be_quiet(configuration);
  observer.look(configuration, 30);
  claim(configuration, RecoveryPhase::kSettling);
  observer.look(configuration, 40);
  observer.look(configuration, 45);
  claim(configuration, RecoveryPhase::kAdopting);
  observer.look(configuration, 50);
  configuration.owed.clear();
  observer.look(configuration, 60);
  begin_life(configuration, 5, MemberState::kJoining);
  observer.look(configuration, 70);
  begin_life(configuration, 5, MemberState::kReady);
  observer.look(configuration, 75);
  begin_life(configuration, 5, MemberState::kServing);
  observer.look(configuration, 80);
  EXPECT_THAT(observer.times(), ElementsAre(20u, 30u, 40u, 50u, 60u, 70u, 80u));
}

TEST(RecoverySteps, ThoseBetweenTwoLooksHaveTheTimeOfTheLater) {
  StepObserver observer(kVictim);
  Configuration configuration = all_serve();
  observer.look(configuration, 10);
  die(configuration);
  be_quiet(configuration);
  claim(configuration, RecoveryPhase::kAdopting);
  observer.look(configuration, 20);
  configuration.owed.clear();
  begin_life(configuration, 5, MemberState::kServing);
  observer.look(configuration, 30);
  EXPECT_THAT(observer.times(), ElementsAre(20u, 20u, 20u, 20u, 30u, 30u, 30u));
}

TEST(RecoverySteps, OtherNodesDeathsAreNotItsOwn) {
  StepObserver observer(kVictim);
  Configuration configuration = all_serve();
  observer.look(configuration, 10);
  configuration.find(3)->state = MemberState::kDead;
  configuration.owed = {{.node = 3, .generation = 4, .number = 7}};
  observer.look(configuration, 20);
  EXPECT_THAT(observer.times(), testing::Each(0u));
}

/// A claimer that dies loses its claim: the recovery goes back, the time of the first claim stays.
TEST(RecoverySteps, TheFirstTimeStays) {
  StepObserver observer(kVictim);
  Configuration configuration = all_serve();
  observer.look(configuration, 10);
  die(configuration);
  be_quiet(configuration);
  claim(configuration, RecoveryPhase::kSettling);
  observer.look(configuration, 20);
  configuration.owed[0].claimed_generation = 0;
  configuration.owed[0].phase = RecoveryPhase::kWaiting;
  observer.look(configuration, 30);
  EXPECT_THAT(observer.times(), ElementsAre(20u, 20u, 20u, 0u, 0u, 0u, 0u));
}

TEST(RecoverySteps, HaveNamesAndMeanings) {
  for (std::size_t step = 0; step < kRecoverySteps; ++step) {
    EXPECT_FALSE(name(static_cast<RecoveryStep>(step)).empty());
    EXPECT_FALSE(meaning(static_cast<RecoveryStep>(step)).empty());
  }
}

/// Survivors that end in order are asked nothing any more.
TEST(RecoverySteps, NobodyIsQuietWhenNobodyServes) {
  StepObserver observer(kVictim);
  Configuration configuration = all_serve();
  observer.look(configuration, 10);
  die(configuration);
  for (const membership::NodeId id : {1, 3}) configuration.find(id)->state = MemberState::kLeft;
  observer.look(configuration, 20);
  EXPECT_THAT(observer.times(), ElementsAre(20u, 0u, 0u, 0u, 0u, 0u, 0u));
}

/// From when it is made until it is stopped; a board that is away for a while is asked again.
TEST(RecoveryWatch, SeesWhatComesToTheBoard) {
  const auto place = std::make_shared<membership::MemoryPlace>();
  membership::MemoryBoard board(place);
  Configuration configuration = all_serve();
  ASSERT_TRUE(board.replace(0, to_text(configuration)).ok());
  RecoveryWatch watch(std::make_unique<membership::MemoryBoard>(place), kVictim);
  const std::uint64_t before = base::monotonic_ns();
  place->set_reachable(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  place->set_reachable(true);
  die(configuration);
  ++configuration.version;
  const auto document = board.read();
  ASSERT_TRUE(document.ok());
  ASSERT_TRUE(board.replace(document->version, to_text(configuration)).ok());
  const StepTimes& times = watch.stop();
  EXPECT_GT(times[0], before);
  EXPECT_EQ(times[1], 0u);
}

}  // namespace
}  // namespace granary::bench::cluster
