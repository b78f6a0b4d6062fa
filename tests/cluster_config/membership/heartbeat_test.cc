// How a node of one host shows that it goes on, and how others tell that it stands still.

#include "cluster_config/membership/local/heartbeat.h"

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/membership/local/silence.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

using granary::tests::TemporaryDirectory;

TEST(Silence, CountsFromWhenTheBeatWasFirstSeen) {
  Silence silence;
  EXPECT_EQ(silence.of(1, 10, 1000, 5000), 0u);
  EXPECT_EQ(silence.of(1, 10, 1000, 5400), 400u);
  EXPECT_EQ(silence.of(2, 10, 1000, 5400), 0u) << "each node by itself";
  EXPECT_EQ(silence.of(1, 10, 1000, 5900), 900u);
  EXPECT_EQ(silence.of(1, 12, 1000, 6000), 0u) << "it has beaten";
  EXPECT_EQ(silence.of(1, 12, 1000, 6500), 500u);
}

/// After a suspension, or when all were stopped, everybody's beats are old.
TEST(Silence, WhatPassesWhileTheWatcherStandsStillIsNone) {
  Silence silence;
  EXPECT_EQ(silence.of(1, 10, 1000, 0), 0u);
  EXPECT_EQ(silence.of(1, 10, 1000, 500), 500u);
  EXPECT_EQ(silence.of(1, 10, 1000, 1001), 0u) << "not looked for more than half of the time";
  EXPECT_EQ(silence.of(1, 10, 1000, 1501), 500u);
  EXPECT_EQ(silence.of(1, 10, 1000, 9000), 0u);
}

class Heartbeats : public testing::Test {
 protected:
  Heartbeat begin() { return Heartbeat::begin(path_, 1000).value(); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "node-1.beat";
};

TEST_F(Heartbeats, OnlyTheBeatThatWasWatchedIsCondemned) {
  Heartbeat own = begin();
  Heartbeat watched = Heartbeat::reach(path_).value();
  EXPECT_EQ(watched.timeout_us(), 1000u);
  const std::uint64_t seen = watched.word();
  EXPECT_TRUE(own.beat());
  EXPECT_FALSE(watched.condemn(seen)) << "it goes on";
  EXPECT_FALSE(own.condemned());
  EXPECT_TRUE(watched.condemn(watched.word()));
  EXPECT_TRUE(own.condemned());
  EXPECT_FALSE(own.beat());
  EXPECT_TRUE(own.condemned()) << "for good";
  EXPECT_TRUE(watched.condemn(seen)) << "another one did it";
}

TEST_F(Heartbeats, ANextLifeIsNotCondemnedForTheLast) {
  Heartbeat watched = [this] {
    Heartbeat last = begin();
    EXPECT_TRUE(last.beat());
    return Heartbeat::reach(path_).value();
  }();
  const std::uint64_t late = watched.word();
  EXPECT_TRUE(watched.condemn(late));
  Heartbeat next = begin();
  EXPECT_FALSE(next.condemned());
  EXPECT_GT(next.word(), late);
  EXPECT_FALSE(watched.condemn(late));
  EXPECT_TRUE(next.beat());
}

/// A node that beats, and is watched by several that are wrong about it: it never beats once one of them says that it
/// is condemned.
TEST_F(Heartbeats, WhoIsCondemnedHasBeatenBeforeOrNeverAgain) {
  for (std::uint64_t round = 0; round < granary::tests::scaled(300); ++round) {
    Heartbeat own = begin();
    std::atomic<bool> condemned{false};
    std::vector<std::thread> watchers;
    for (int i = 0; i < 2; ++i) {
      watchers.emplace_back([&] {
        Heartbeat watched = Heartbeat::reach(path_).value();
        while (!watched.condemn(watched.word())) {
        }
        condemned = true;
      });
    }
    bool beats = true;
    while (beats) {
      const bool before = condemned;
      beats = own.beat();
      ASSERT_FALSE(before && beats) << "round " << round;
    }
    for (std::thread& watcher : watchers) watcher.join();
    ASSERT_TRUE(own.condemned());
  }
}

TEST_F(Heartbeats, OneThatIsNotThereYetIsNoError) {
  EXPECT_EQ(Heartbeat::look(path_).status().code(), StatusCode::kNotFound);
  std::ofstream(path_) << "short";
  EXPECT_EQ(Heartbeat::look(path_).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace granary::membership::tests
