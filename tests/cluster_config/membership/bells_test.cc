// The bells by which the boards of one run directory wake each other, and when a board rings them. How soon a death is
// seen is in local_test.cc.

#include "cluster_config/membership/local/bells.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/membership/local/local_board.h"
#include "tests/support/crash_child.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

using granary::tests::CrashChild;

class BellsTest : public testing::Test {
 protected:
  Bells hang() { return Bells::hang(directory_.path()).value(); }
  /// Whether somebody rings or ends within the time.
  static bool hears(Bells& bells, int timeout_ms) {
    std::vector<pollfd> polled;
    bells.add_to(polled);
    return ::poll(polled.data(), polled.size(), timeout_ms) > 0 && bells.take(polled.data());
  }
  /// Takes the rings of those that have come.
  static void settle(Bells& bells) {
    while (hears(bells, 0)) {
    }
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }

  const granary::tests::TemporaryDirectory directory_;
};

TEST_F(BellsTest, ARingIsHeardByAllOnce) {
  Bells one = hang(), two = hang();
  settle(one), settle(two);
  EXPECT_FALSE(hears(one, 0));
  two.ring_all();
  EXPECT_TRUE(hears(one, 1000));
  EXPECT_TRUE(hears(two, 1000)) << "also by who has rung";
  EXPECT_FALSE(hears(one, 0));
}

TEST_F(BellsTest, WhatRingsBeforeTheWaitIsHeard) {
  Bells one = hang();
  settle(one);
  const Bells two = hang();
  EXPECT_TRUE(hears(one, 0)) << "a new one tells that it is there";
}

TEST_F(BellsTest, ABellThatNobodyHearsHoldsUpNobody) {
  Bells deaf = hang();
  const Bells one = hang();
  for (int i = 0; i < 66'000; ++i) one.ring_all();  // more than a pipe holds
  EXPECT_TRUE(hears(deaf, 0));
  EXPECT_FALSE(hears(deaf, 0));
}

TEST_F(BellsTest, AnEndIsHeardAndLeavesNothing) {
  Bells one = hang();
  {
    const Bells two = hang();
    settle(one);
  }
  EXPECT_TRUE(hears(one, 1000));
  EXPECT_FALSE(hears(one, 0));
  EXPECT_EQ(files(), 1u);
}

TEST_F(BellsTest, AKilledProcessIsHeardToo) {
  Bells one = hang();
  CrashChild child([this](const CrashChild::Report& report) {
    const Bells own = hang();
    report("hangs");
    while (true) ::pause();
  });
  ASSERT_TRUE(child.run_until("hangs"));
  settle(one);
  EXPECT_EQ(files(), 2u);
  child.kill();
  EXPECT_TRUE(hears(one, 1000));
  EXPECT_FALSE(hears(one, 0));
  EXPECT_EQ(files(), 1u) << "what the dead has left is taken away";
  one.ring_all();
  EXPECT_TRUE(hears(one, 0));
}

TEST_F(BellsTest, ADirectoryThatWasEmptiedIsNoError) {
  Bells one = hang();
  settle(one);
  std::filesystem::remove_all(directory_.path());
  one.ring_all();
  EXPECT_FALSE(hears(one, 0));
}

/// Other boards would see these changes only at their next pulse if nobody rang.
TEST(LocalBoard, RingsForWhatItChanges) {
  const granary::tests::TemporaryDirectory directory;
  const auto board = open_local_board(directory.path(), 60'000'000).value();
  Bells listener = Bells::hang(directory / "membership").value();
  const auto heard = [&listener] {
    std::vector<pollfd> polled;
    listener.add_to(polled);
    return ::poll(polled.data(), polled.size(), 0) > 0 && listener.take(polled.data());
  };
  while (heard()) {
  }
  EXPECT_TRUE(board->replace(0, "first").value());
  EXPECT_TRUE(heard());
  EXPECT_FALSE(board->replace(0, "late").value());
  EXPECT_FALSE(heard()) << "nothing was changed";
  ASSERT_TRUE(board->mark(1, "somebody").ok());
  EXPECT_TRUE(heard());
  ASSERT_TRUE(board->unmark().ok());
  EXPECT_TRUE(heard());
}

/// A killed process must end at once, since nobody recovers its node before. One that watches files by inotify may take
/// many seconds (bells.h).
TEST(LocalBoard, WatchesNothingByInotify) {
  const granary::tests::TemporaryDirectory directory;
  const auto board = open_local_board(directory.path(), 60'000'000).value();
  ASSERT_TRUE(board->mark(1, "somebody").ok());
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor of this very directory
    const std::string what = std::filesystem::read_symlink(descriptor.path(), gone).string();
    EXPECT_EQ(what.find("inotify"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace granary::membership::tests
