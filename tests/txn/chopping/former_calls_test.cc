// Half-done calls of an earlier life of which keep_chains() cannot finish all: each is tried, and none is forgotten.
// Not here: lives in which all can be finished (chain_test.cc).

#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/txn/chopping/chain_bank.h"

namespace granary {
namespace {

using testing::HasSubstr;
using tests::Life;
using tests::Move;
using tests::Moved;

/// Leaves a call of 'move' half done for each amount, in this order, and ends the life.
void leave_half_done(const std::string& directory, std::initializer_list<std::int64_t> amounts) {
  Life life(directory);
  ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  life.fill(10);
  for (const std::int64_t amount : amounts) life.leave_half_done(amount);
  life.worker.reset();
}

/// Leaves a call of a procedure half done that later lives do not register, then one of 'move', and ends the life.
void leave_half_done_after_an_unknown(const std::string& directory) {
  Life life(directory);
  const auto nothing = [](Transaction&, const Move&, Moved&) {};
  const auto fail = [](Transaction& t, const Move&, Moved&) { t.abort(); };
  const auto gone = life.procedures.add_chain<Move, Moved>("gone", {{{}, nothing}, {{}, fail}}).value();
  ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  life.fill(10);
  Moved moved;
  EXPECT_EQ(life.procedures.call(*life.worker, gone, Move{1, 1, 1}, moved).pieces_left, 1U);
  life.leave_half_done(3);
  life.worker.reset();
}

TEST(FormerCalls, AnUnknownProcedureHindersNoOtherCall) {
  const tests::TemporaryDirectory directory;
  leave_half_done_after_an_unknown(directory.path());
  for (int lives = 0; lives < 2; ++lives) {
    Life life(directory.path());
    const auto finished = life.procedures.keep_chains(*life.database, *life.worker);
    EXPECT_EQ(finished.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(finished.status().message(), HasSubstr("a call of 'gone' is half done"));
    EXPECT_THAT(finished.status().message(), HasSubstr("1 call is left half done"));
    EXPECT_EQ(life.balance(life.bank->second), 3) << "the other call is finished, once";
    EXPECT_EQ(life.procedures.calls_left(), 1U);
    EXPECT_EQ(life.procedures.finish_left(*life.worker), 1U);
    life.worker.reset();
  }
}

TEST(FormerCalls, ChainsAreKeptAlthoughACallCannotBeFinished) {
  const tests::TemporaryDirectory directory;
  leave_half_done_after_an_unknown(directory.path());
  Life life(directory.path());
  ASSERT_FALSE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  life.leave_half_done(2);
  EXPECT_EQ(life.procedures.calls_left(), 2U);
  life.bank->fails = false;
  EXPECT_EQ(life.procedures.finish_left(*life.worker), 1U);
  EXPECT_EQ(life.balance(life.bank->second), 5);
  life.worker.reset();
}

TEST(FormerCalls, APieceThatThrowsHindersNoOtherCall) {
  const tests::TemporaryDirectory directory;
  leave_half_done(directory.path(), {1, 2});
  Life life(directory.path());
  life.bank->on_give = [](const Move& move, const Moved&) {
    if (move.amount == 1) throw std::runtime_error("no paper");
  };
  Status status;
  ASSERT_NO_THROW(status = life.procedures.keep_chains(*life.database, *life.worker).status());
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("a call of 'move' is half done"));
  EXPECT_THAT(status.message(), HasSubstr("no paper"));
  EXPECT_EQ(life.procedures.calls_left(), 1U);
  EXPECT_EQ(life.balance(life.bank->second), 2) << "the other call is finished";
  life.bank->on_give = {};
  EXPECT_EQ(life.procedures.finish_left(*life.worker), 0U);
  EXPECT_EQ(life.balance(life.bank->second), 3);
  life.worker.reset();
}

TEST(FormerCalls, APieceThatAbortsHindersNoOtherCall) {
  const tests::TemporaryDirectory directory;
  leave_half_done(directory.path(), {1, 2});
  Life life(directory.path());
  int gives = 0;
  life.bank->on_give = [&](const Move&, const Moved&) { life.bank->fails = ++gives == 1; };
  const Status status = life.procedures.keep_chains(*life.database, *life.worker).status();
  EXPECT_THAT(status.message(), HasSubstr("its piece 2 did not commit (user)"));
  EXPECT_EQ(life.procedures.calls_left(), 1U);
  EXPECT_EQ(life.balance(life.bank->second), 2);
  life.worker.reset();
}

/// A worker of another thread is one of the reasons for which the table cannot be read.
TEST(FormerCalls, AreReadOnceMoreIfTheyCouldNotBeRead) {
  const tests::TemporaryDirectory directory;
  leave_half_done(directory.path(), {3});
  Life life(directory.path());
  Worker elsewhere = life.database->register_worker().value();
  std::thread([&elsewhere] { EXPECT_TRUE(elsewhere.run([](Transaction&) {}).committed()); }).join();
  const Status unread = life.procedures.keep_chains(*life.database, elsewhere).status();
  EXPECT_THAT(unread.message(), HasSubstr("table 'granary.chains' cannot be read: wrong_thread"));
  EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), 1U);
  EXPECT_EQ(life.balance(life.bank->second), 3);
  EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).status().code(), StatusCode::kAlreadyExists);
  life.worker.reset();
}

}  // namespace
}  // namespace granary
