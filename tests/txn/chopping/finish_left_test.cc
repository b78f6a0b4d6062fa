// Calls of chains that could not go on are finished in the same life, by whoever finds them. Not here: what the next
// life finishes (chain_test.cc).

#include <array>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/txn/chopping/chain_bank.h"

namespace granary {
namespace {

using tests::Life;
using tests::Move;
using tests::Moved;

TEST(FinishLeft, EndsACallOfThisLifeOnceItsObstacleIsGone) {
  const tests::TemporaryDirectory directory;
  std::vector<std::uint32_t> pieces_before;
  {
    Life life(directory.path());
    ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
    life.fill(10);
    life.bank->on_give = [&](const Move&, const Moved& moved) { pieces_before.push_back(moved.pieces); };
    life.leave_half_done(3);
    EXPECT_EQ(life.procedures.calls_left(), 1U);
    EXPECT_EQ(life.procedures.finish_left(*life.worker), 1U);
    EXPECT_EQ(life.balance(life.bank->second), 0);
    life.bank->fails = false;
    EXPECT_EQ(life.procedures.finish_left(*life.worker), 0U);
    EXPECT_EQ(life.procedures.calls_left(), 0U);
    EXPECT_EQ(life.procedures.finish_left(*life.worker), 0U) << "it is forgotten";
    EXPECT_EQ(life.balance(life.bank->first), 7);
    EXPECT_EQ(life.balance(life.bank->second), 3);
    EXPECT_EQ(pieces_before, (std::vector<std::uint32_t>{1, 1, 1})) << "the reply as the first piece has left it";
    ASSERT_EQ(life.notices.size(), 2U) << "one when it was left, one when it was finished";
    EXPECT_EQ(life.notices[0].severity, NoticeSeverity::kWarning);
    EXPECT_NE(life.notices[0].text.find("a call of 'move' is half done: its piece 2 did not commit (user)"),
              std::string::npos);
    EXPECT_EQ(life.notices[1].severity, NoticeSeverity::kInfo);
    life.worker.reset();
  }
  Life life(directory.path());
  EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), 0U) << "it would be done twice";
  EXPECT_EQ(life.balance(life.bank->second), 3);
  life.worker.reset();
}

TEST(KeepChains, IsCalledOnceInALife) {
  const tests::TemporaryDirectory directory;
  for (int lives = 0; lives < 2; ++lives) {
    Life life(directory.path());
    ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
    const auto again = life.procedures.keep_chains(*life.database, *life.worker);
    EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
    EXPECT_NE(again.status().message().find("keep_chains() was called already"), std::string::npos)
        << again.status().message();
    life.worker.reset();
  }
}

TEST(FinishLeft, WhatIsLeftAtTheEndIsFinishedByTheNextLife) {
  const tests::TemporaryDirectory directory;
  {
    Life life(directory.path());
    ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
    life.fill(10);
    life.leave_half_done(3);
    EXPECT_EQ(life.procedures.finish_left(*life.worker), 1U);
    life.worker.reset();
  }
  Life life(directory.path());
  EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), 1U);
  EXPECT_EQ(life.balance(life.bank->second), 3);
  EXPECT_EQ(life.procedures.calls_left(), 0U);
  life.worker.reset();
}

TEST(FinishLeft, APieceThatThrewIsTriedAgain) {
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  life.fill(10);
  life.bank->between = [] { throw std::runtime_error("no paper"); };
  Moved moved;
  EXPECT_THROW((void)life.procedures.call(*life.worker, life.procedure, Move{1, 1, 3}, moved), std::runtime_error);
  EXPECT_EQ(life.procedures.calls_left(), 1U);
  EXPECT_EQ(life.procedures.finish_left(*life.worker), 1U);
  life.bank->between = {};
  EXPECT_EQ(life.procedures.finish_left(*life.worker), 0U);
  EXPECT_EQ(life.balance(life.bank->second), 3);
  life.worker.reset();
}

/// A call's second piece that runs in two threads, or twice, would give too much.
TEST(FinishLeft, NoCallIsTriedByTwoAtOnce) {
  constexpr std::size_t kCalls = 100;
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  std::atomic<bool> fails{true};
  std::array<std::atomic<int>, kCalls> running{};
  std::atomic<int> together{0}, tries{0};
  life.fill(1000);
  struct Failed : std::exception {};
  life.bank->on_give = [&](const Move& move, const Moved&) {
    if (running[move.to].fetch_add(1) != 0) ++together;
    ++tries;
    std::this_thread::yield();
    running[move.to].fetch_sub(1);
    if (fails || tries % 3 == 0) throw Failed();
  };
  for (std::uint64_t call = 0; call < kCalls; ++call) {
    Moved moved;
    EXPECT_THROW((void)life.procedures.call(*life.worker, life.procedure, Move{1, call, 1}, moved), Failed);
  }
  EXPECT_EQ(life.procedures.calls_left(), kCalls);
  const auto finish = [&] {
    Worker worker = life.database->register_worker().value();
    while (life.procedures.finish_left(worker) != 0) std::this_thread::yield();
  };
  std::thread first(finish), second(finish);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  fails = false;
  first.join();
  second.join();
  EXPECT_EQ(together, 0);
  for (std::uint64_t call = 0; call < kCalls; ++call) {
    std::int64_t given = 0;
    (void)life.worker->run([&](Transaction& t) { given = t.get(life.bank->second, call).value_or(0); });
    EXPECT_EQ(given, 1) << call;
  }
  EXPECT_EQ(life.balance(life.bank->first), 1000 - std::int64_t{kCalls});
  life.worker.reset();
}

}  // namespace
}  // namespace granary
