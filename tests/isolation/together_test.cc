// How bodies in turns wait: the thread pauses only where none of them can go on.

#include "src/txn/together.h"

#include <gtest/gtest.h>

namespace granary::txn {
namespace {

class CountedPauses final : public base::Waiter {
 public:
  void pause(std::uint32_t turn) override {
    ++pauses;
    last_turn = turn;
  }
  int pauses = 0;
  std::uint32_t last_turn = 0;
};

constexpr int kTurns = 100;

TEST(Together, NobodyPausesTheThreadWhileOthersGoOn) {
  CountedPauses thread;
  Together together(thread);
  ASSERT_EQ(together.make_seats(2), 2u);
  together.run(2, 2, [&](std::size_t body) {
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      if (body == 0) {
        together.waiter().pause(turn);
      } else {
        together.turn();
      }
    }
  });
  EXPECT_LE(thread.pauses, 1) << "at most when the other one has ended";
}

TEST(Together, TheThreadPausesWhereAllWait) {
  CountedPauses thread;
  Together together(thread);
  ASSERT_EQ(together.make_seats(3), 3u);
  together.run(3, 3, [&](std::size_t) {
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) together.waiter().pause(0);
  });
  EXPECT_EQ(thread.pauses, kTurns) << "once for all three";
  EXPECT_EQ(thread.last_turn, kTurns - 1u) << "longer and longer";
}

TEST(Together, OneThatGoesOnEndsTheWait) {
  CountedPauses thread;
  Together together(thread);
  ASSERT_EQ(together.make_seats(2), 2u);
  together.run(2, 2, [&](std::size_t body) {
    for (int turn = 0; turn < kTurns; ++turn) {
      if (body == 0 || turn % 2 == 0) {
        together.waiter().pause(0);
      } else {
        together.turn();
      }
    }
  });
  EXPECT_EQ(thread.pauses, kTurns / 2);
  EXPECT_EQ(thread.last_turn, 0u);
}

}  // namespace
}  // namespace granary::txn
