// What a node does for a dead one whose directory it sees: when it begins, when it must not go on, and what it says if
// it cannot.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <granary/database.h>
#include <gtest/gtest.h>

#include "src/base/directory.h"
#include "tests/node/recoverer_setting.h"

namespace granary::db {
namespace {

using membership::Configuration;
using membership::Membership;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RecovererTest, SettlesWhatTheDeadNodeOwes) {
  be_quiet();
  (void)recoverer().step(now());
  EXPECT_TRUE(acted_);
  EXPECT_FALSE(now().owes(kDead));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("node 2 (generation 1) is recovered")));
}

TEST_F(RecovererTest, TellsHowFarARecoveryIs) {
  recoveries_.follow(now());
  NodeRecovery seen = recoveries_.list(now()).at(0);
  EXPECT_EQ(seen.node, kDead);
  EXPECT_EQ(seen.generation, 1u);
  EXPECT_EQ(seen.phase, NodeRecovery::Phase::kWaiting);
  EXPECT_EQ(seen.claimed_by, 0u);
  EXPECT_FALSE(seen.here);
  be_quiet();
  settled_ = {.redone = 1, .freed = 2, .settled_before = 3, .gone = 4, .removals = 5};
  meanwhile_ = [&] {
    seen = recoveries_.list(now()).at(0);
    recoveries_.follow(now());
  };
  (void)recoverer().step(now());
  EXPECT_EQ(seen.phase, NodeRecovery::Phase::kSettling);
  EXPECT_EQ(seen.claimed_by, kOwn);
  EXPECT_TRUE(seen.here);
  EXPECT_GT(seen.work.waited_us, 0u);
  EXPECT_GT(seen.work.opened_us, 0u);
  EXPECT_EQ(seen.work.settled_us, 0u);
  recoveries_.follow(now());
  const std::vector<NodeRecovery> all = recoveries_.list(now());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].phase, NodeRecovery::Phase::kRecovered);
  EXPECT_EQ(all[0].claimed_by, kOwn);
  const RecoveryWork& work = all[0].work;
  EXPECT_EQ(
      (std::vector{work.redone_records, work.freed_records, work.settled_before, work.gone_records, work.removals}),
      (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_GT(work.adopted_us, 0u);
  EXPECT_GE(all[0].age_us, work.waited_us + work.opened_us + work.settled_us + work.adopted_us);
  EXPECT_THAT(told_,
              ElementsAre(HasSubstr("1 were written back, 2 freed unchanged, 3 were free already, and 4 are gone")));
}

TEST_F(RecovererTest, WaitsUntilAllAreQuiet) {
  Recoverer waits = recoverer();
  (void)waits.step(now());
  EXPECT_EQ(settles_, 0);
  EXPECT_EQ(now().owed[0].claimed_generation, 0u);
}

TEST_F(RecovererTest, LeavesDirectoriesAloneThatItDoesNotSee) {
  sees_ = false;
  be_quiet();
  EXPECT_FALSE(recoverer().step(now())) << "another configuration comes first";
  EXPECT_TRUE(now().owes(kDead));
  EXPECT_EQ(settles_, 0);
}

/// It may be dead to the others by now, and another one may act for the same life.
TEST_F(RecovererTest, DoesNothingForOthersWhenItsOwnFenceHasShut) {
  be_quiet();
  meanwhile_ = [this] {
    place_->set_valid_until(membership::lifetime_us() - 1);
    own_->step(0);
  };
  EXPECT_TRUE(recoverer().step(now())) << "it is tried again";
  EXPECT_FALSE(acted_);
  EXPECT_TRUE(now().owes(kDead));
}

TEST_F(RecovererTest, DoesNothingForOthersWhenItIsNoMemberAnyMore) {
  be_quiet();
  meanwhile_ = [this] {
    place_->remove_mark(kOwn);
    own_->step(0);
  };
  (void)recoverer().step(now());
  EXPECT_FALSE(acted_);
}

/// A visit is over when nobody serves any more, though a home that begins anew does not answer yet.
TEST_F(RecovererTest, EndsWhatItDoesWhenItsNodeIsAboutToLeave) {
  be_quiet();
  Recoverer leaving = recoverer();
  meanwhile_ = [&] { leaving.stop(); };
  (void)leaving.step(now());
  EXPECT_EQ(settles_, 1);
  EXPECT_FALSE(acted_);
  EXPECT_TRUE(now().owes(kDead)) << "whoever comes next does it";
  EXPECT_FALSE(leaving.step(now())) << "it begins nothing any more";
  EXPECT_EQ(settles_, 1);
}

/// E stands still until this node acts in the new membership, and a second dead node waits for it, too. So a home that
/// does not answer must not hold it up.
TEST_F(RecovererTest, EndsWhatItDoesWhenTheMembershipHasChanged) {
  be_quiet();
  std::unique_ptr<Membership> third;
  meanwhile_ = [&] {
    third = Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(3), {}).value();
    own_->step(0);
  };
  Recoverer interrupted = recoverer();
  EXPECT_TRUE(interrupted.step(now()));
  EXPECT_EQ(settles_, 1);
  ASSERT_FALSE(acted_);
  EXPECT_TRUE(told_.empty()) << "that is no failure";
  EXPECT_EQ(now().owed[0].claimed_by, kOwn);
  meanwhile_ = [] {};
  be_quiet();
  (void)interrupted.step(now());
  EXPECT_FALSE(now().owes(kDead));
  EXPECT_TRUE(interrupted.failure().ok());
}

/// The dead node's next life may visit because of another debt. It leaves this one to whoever has claimed it, and waits
/// for the end of that.
TEST_F(RecovererTest, GoesOnWithItsClaimThoughTheNextLifeOfTheDeadNodeVisits) {
  be_quiet();
  std::unique_ptr<Membership> next;
  meanwhile_ = [&] {
    next = Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(kDead), {}).value();
    own_->step(0);
  };
  Recoverer interrupted = recoverer();
  EXPECT_TRUE(interrupted.step(now()));
  ASSERT_FALSE(acted_);
  ASSERT_TRUE(now().lives(kDead));
  meanwhile_ = [] {};
  be_quiet();
  (void)interrupted.step(now());
  EXPECT_TRUE(acted_);
  EXPECT_FALSE(now().owes(kDead));
}

/// A long log is read for long, and a second dead node's directory may be on a slow disk: before this node acts in a
/// new membership, E stands still on all nodes.
TEST_F(RecovererTest, BeginsNothingAndReadsNothingInAMembershipThatIsOver) {
  std::unique_ptr<Membership> second =
      Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(3), {}).value();
  ASSERT_TRUE(second->serve().ok());
  place_->remove_mark(3);
  ASSERT_TRUE(now().owes(3));
  be_quiet();
  std::vector<std::unique_ptr<Membership>> joined;
  const auto join_another = [&] {
    const auto id = static_cast<membership::NodeId>(4 + joined.size());
    joined.push_back(
        Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(id), {}).value());
    own_->step(0);
  };
  meanwhile_ = join_another;
  Recoverer recovers = recoverer();
  int opened = 0;
  base::set_sync_hook([&](std::string_view point) { opened += point == "recovery.claimed" ? 1 : 0; });
  const Configuration before = now();
  EXPECT_TRUE(recovers.step(before));
  EXPECT_EQ(opened, 1) << "the other debt is of no concern any more";
  EXPECT_TRUE(recovers.step(before));
  EXPECT_EQ(opened, 1) << "nor is the first one";
  base::set_sync_hook([&](std::string_view point) {
    if (point == "recovery.claimed") join_another();
  });
  be_quiet();
  EXPECT_TRUE(recovers.step(now()));
  base::set_sync_hook({});
  EXPECT_EQ(settles_, 1) << "the directory was not opened";
  EXPECT_TRUE(told_.empty()) << "nothing of it is a failure: " << told_[0];
}

/// A node that has begun to serve since the claim may have a transaction open for long.
TEST_F(RecovererTest, WaitsWithItsClaimForANewMemberToBeQuiet) {
  be_quiet();
  auto third = Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(3), {}).value();
  be_quiet();
  Recoverer waits = recoverer();
  meanwhile_ = [&] { EXPECT_TRUE(third->serve().ok()); };
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
       std::chrono::steady_clock::now() < end;) {
    (void)waits.step(now());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(told_.empty()) << told_[0];
  EXPECT_EQ(now().owed[0].claimed_by, kOwn);
  third->step(0);
  EXPECT_TRUE(third->be_quiet({.number = now().number, .epoch = 1}).ok());
  (void)waits.step(now());
  EXPECT_FALSE(now().owes(kDead));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("node 2 (generation 1) is recovered")));
}

/// A former claimer may still be at work until all have cut it off.
TEST_F(RecovererTest, TakesOverFromOneThatDiedWhenAllAreQuietAboutThatToo) {
  auto third = Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(3), {}).value();
  be_quiet();
  ASSERT_TRUE(third->claim(kDead, 1).ok());
  place_->remove_mark(3);
  EXPECT_TRUE(now().owes(3));
  Recoverer second = recoverer();
  (void)second.step(now());
  EXPECT_EQ(settles_, 0) << "node 3 has not been cut off yet";
  be_quiet();
  (void)second.step(now());
  (void)second.step(now());
  EXPECT_TRUE(now().owed.empty());
}

/// Nothing is guessed from an older copy of the directory, or from one without data.
TEST_F(RecovererTest, TakesNoOtherLifesDirectoryForTheDeadOnes) {
  be_quiet();
  remembered_ = 0;
  (void)recoverer().step(now());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], AllOf(HasSubstr("cannot be recovered here"), HasSubstr("holds no data"),
                              HasSubstr("put back what life 1 left")));
  EXPECT_EQ(settles_, 0);
  EXPECT_TRUE(now().owes(kDead));
}

TEST_F(RecovererTest, RecoversALifeOnlyFromADirectoryThatKnowsIt) {
  be_quiet();
  Recoverer waits = recoverer();
  remembered_ = 0;
  (void)waits.step(now());
  EXPECT_FALSE(acted_);
  EXPECT_THAT(waits.failure().message(), HasSubstr(directory_.path()));
}

/// The cause may be gone by the next attempt, as when a volume has been mounted meanwhile.
TEST_F(RecovererTest, ForgetsWhyItCouldNotOnceItHasRecoveredTheLife) {
  be_quiet();
  Recoverer waits = recoverer();
  remembered_ = 0;
  (void)waits.step(now());
  ASSERT_FALSE(waits.failure().ok());
  remembered_ = 1;
  const std::uint64_t end = membership::lifetime_us() + kLong_us;
  while (now().owes(kDead) && membership::lifetime_us() < end) {
    (void)waits.step(now());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(now().owes(kDead));
  EXPECT_TRUE(waits.failure().ok()) << waits.failure().message();
}

/// A look at the dead node's log takes as long as the log is long.
TEST_F(RecovererTest, NamesAToolThatReadsTheDirectoryAndGoesOnBehindIt) {
  be_quiet();
  auto tool = base::lock_to_read(directory_.path() + "/LOCK");
  ASSERT_TRUE(tool.ok()) << tool.status().message();
  Recoverer waits = recoverer();
  const std::uint64_t end = membership::lifetime_us() + kLong_us;
  const auto step_while = [&](const std::function<bool()>& condition) {
    while (condition() && membership::lifetime_us() < end) {
      (void)waits.step(now());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  step_while([&] { return told_.empty(); });
  EXPECT_THAT(told_, ElementsAre(AllOf(HasSubstr("cannot be recovered here"), HasSubstr("only reads the database"),
                                       HasSubstr(directory_.path() + "/LOCK"))));
  EXPECT_TRUE(now().owes(kDead));
  tool->reset();
  step_while([&] { return now().owes(kDead); });
  EXPECT_FALSE(now().owes(kDead));
  EXPECT_TRUE(acted_);
  EXPECT_TRUE(waits.failure().ok()) << waits.failure().message();
}

/// A life that has served had a manifest, so that one without has lost its data, and what it had decided may be in its
/// rings only.
TEST_F(RecovererTest, TakesAMissingManifestForALoss) {
  be_quiet();
  std::filesystem::remove(directory_.path() + "/MANIFEST");
  (void)recoverer().step(now());
  EXPECT_THAT(told_, ElementsAre(HasSubstr("'" + directory_.path() + "' holds no data")));
  EXPECT_TRUE(now().owes(kDead));
}

/// To settle by an empty directory would free what the lost log has decided.
TEST_F(RecovererTest, SettlesNothingOfALifeThatLostItsData) {
  be_quiet();
  std::filesystem::remove(directory_.path() + "/MANIFEST");
  (void)recoverer().step(now());
  EXPECT_EQ(settles_, 0);
  EXPECT_FALSE(acted_);
  EXPECT_EQ(recoveries_.list(now()).at(0).phase, NodeRecovery::Phase::kGivenUp);
}

TEST_F(RecovererTest, SaysOnceWhyItCannot) {
  be_quiet();
  std::filesystem::resize_file(directory_.path() + "/MANIFEST", 7);
  Recoverer cannot = recoverer();
  EXPECT_TRUE(cannot.step(now()));
  EXPECT_TRUE(cannot.step(now()));
  EXPECT_THAT(told_,
              ElementsAre(AllOf(HasSubstr("node 2 (generation 1) cannot be recovered here"), HasSubstr("MANIFEST"))));
  EXPECT_EQ(now().owed[0].claimed_generation, 0u) << "another node may try";
  EXPECT_EQ(now().owed[0].phase, membership::RecoveryPhase::kGivenUp);
  const NodeRecovery seen = recoveries_.list(now()).at(0);
  EXPECT_EQ(seen.phase, NodeRecovery::Phase::kGivenUp);
  EXPECT_EQ(seen.claimed_by, 0u);
  EXPECT_THAT(seen.failure, HasSubstr("MANIFEST"));
  EXPECT_EQ(settles_, 0);
}

}  // namespace
}  // namespace granary::db
