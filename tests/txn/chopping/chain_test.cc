// Procedures that run in pieces: order, retries, and what a crash between pieces leaves. The crash is one of the call:
// the database closes and is opened again. Not here: which chains may (chopping_test.cc), who finishes in the same life
// what could not go on (finish_left_test.cc), and nodes that are away (tests/node/chain_test.cc).

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/manual_database.h"
#include "tests/support/temporary_directory.h"
#include "tests/txn/chopping/chain_bank.h"

namespace granary {
namespace {

using tests::Accounts;
using tests::Bank;
using tests::Life;
using tests::Move;
using tests::Moved;

class ChainTest : public testing::Test {
 protected:
  std::int64_t balance(const Accounts& table) {
    std::int64_t found = 0;
    const RunResult done =
        database_.worker(1).run([&](Transaction& t) { found = t.get(table, 1).value_or(0); }, {.max_attempts = 1});
    EXPECT_TRUE(done.committed());
    return found;
  }
  void SetUp() override {
    database_.commit([&](Transaction& t) { (void)t.put(bank_.first, 1, 10); });
  }
  RunResult move(std::int64_t amount) {
    return procedures_.call(database_.worker(0), procedure_, Move{1, 1, amount}, moved_);
  }

  tests::ManualDatabase database_;
  Bank bank_{*database_};
  Procedures procedures_;
  Procedures::Handle<Move, Moved> procedure_ = bank_.add_to(procedures_);
  Moved moved_;
};

TEST_F(ChainTest, RunsAsOneTransactionUntilTheSetWasChecked) {
  std::int64_t seen = -1;
  bank_.between = [&] { seen = balance(bank_.first); };
  EXPECT_TRUE(move(3).committed());
  EXPECT_EQ(seen, 10) << "somebody saw a part of what was promised to be whole";
  EXPECT_EQ(balance(bank_.second), 3);
}

TEST_F(ChainTest, RunsInPiecesWhereThatIsAllowed) {
  ASSERT_TRUE(procedures_.check_chains().ok());
  std::int64_t seen = -1;
  bank_.between = [&] { seen = balance(bank_.first); };
  EXPECT_TRUE(move(3).committed());
  EXPECT_EQ(seen, 7) << "the first piece had not committed before the second began";
  EXPECT_EQ(moved_.left, 7);
  EXPECT_EQ(balance(bank_.second), 3);
}

TEST_F(ChainTest, ALaterPieceIsTriedUntilItCommits) {
  ASSERT_TRUE(procedures_.check_chains().ok());
  int turns = 0;
  bank_.between = [&] {
    if (++turns > 3) return;
    Transaction t = database_.worker(1).begin();
    (void)t.put(bank_.second, 1, 100 * turns);
    EXPECT_TRUE(t.commit().committed());
  };
  EXPECT_TRUE(move(3).committed());
  EXPECT_EQ(balance(bank_.second), 303);
  EXPECT_EQ(moved_.pieces, 2U) << "what an attempt did to the reply outlived it";
}

TEST_F(ChainTest, AsOneTransactionEachAttemptBeginsWithTheSameReply) {
  int turns = 0;
  bank_.between = [&] {
    if (++turns > 3) return;
    EXPECT_TRUE(database_.worker(1).run([&](Transaction& t) { (void)t.put(bank_.second, 1, 100 * turns); }));
  };
  moved_.pieces = 5;
  EXPECT_TRUE(move(3).committed());
  EXPECT_EQ(turns, 4) << "no attempt has failed";
  EXPECT_EQ(moved_.pieces, 7U);
}

TEST_F(ChainTest, SoDoesAProcedureOfOnePiece) {
  int attempts = 0;
  const auto count = [&](Transaction& t, const Move&, Moved& reply) {
    ++reply.pieces;
    (void)t.get(bank_.first, 1);
    if (++attempts < 3)
      EXPECT_TRUE(database_.worker(1).run([&](Transaction& other) { (void)other.put(bank_.first, 1, attempts); }));
    (void)t.put(bank_.first, 1, 9);
  };
  const auto handle = procedures_.add<Move, Moved>("count", count).value();
  const Move none{};
  EXPECT_TRUE(procedures_.call(database_.worker(0), handle, none, moved_).committed());
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(moved_.pieces, 1U);
}

TEST_F(ChainTest, TheFirstPieceMayRollBack) {
  ASSERT_TRUE(procedures_.check_chains().ok());
  EXPECT_EQ(move(11).reason, AbortReason::kUser);
  EXPECT_EQ(balance(bank_.first), 10);
  EXPECT_EQ(balance(bank_.second), 0);
}

TEST_F(ChainTest, WhoeverSeesBothPiecesForbidsThem) {
  const auto look = [](Transaction&, const Move&, Moved&) {};
  const DeclaredAccesses both{{"first", AccessMode::kRead}, {"second", AccessMode::kRead}};
  ASSERT_TRUE((procedures_.add<Move, Moved>("look", look, both).ok()));
  EXPECT_NE(procedures_.check_chains().message().find("'move' may not run in pieces"), std::string::npos);
  std::int64_t seen = -1;
  bank_.between = [&] { seen = balance(bank_.first); };
  EXPECT_TRUE(move(3).committed());
  EXPECT_EQ(seen, 10) << "it ran in pieces all the same";
}

TEST_F(ChainTest, WhoeverDeclaresNothingForbidsThem) {
  ASSERT_TRUE((procedures_.add<Move, Moved>("other", [](Transaction&, const Move&, Moved&) {}).ok()));
  EXPECT_NE(procedures_.check_chains().message().find("'other' has not declared"), std::string::npos);
}

TEST_F(ChainTest, ByNameItIsTheSame) {
  ASSERT_TRUE(procedures_.check_chains().ok());
  const Move move{1, 1, 4};
  std::string reply;
  const auto done =
      procedures_.call(database_.worker(0), "move", {reinterpret_cast<const char*>(&move), sizeof move}, reply);
  ASSERT_TRUE(done.ok() && done->committed());
  ASSERT_EQ(reply.size(), sizeof moved_);
  std::memcpy(&moved_, reply.data(), sizeof moved_);
  EXPECT_EQ(moved_.left, 6);
  EXPECT_EQ(moved_.pieces, 2U);
}

TEST(ChainLog, RecoveryFinishesWhatACrashCutInTwo) {
  const tests::TemporaryDirectory directory;
  {
    Life life(directory.path());
    EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), 0U);
    life.fill(10);
    Moved moved;
    const RunResult whole = life.procedures.call(*life.worker, life.procedure, Move{1, 1, 2}, moved);
    EXPECT_TRUE(whole.committed());
    EXPECT_EQ(whole.pieces_left, 0U);
    const RunResult nothing = life.procedures.call(*life.worker, life.procedure, Move{1, 1, 100}, moved);
    EXPECT_FALSE(nothing.committed());
    EXPECT_EQ(nothing.pieces_left, 0U) << "it has not begun";
    life.leave_half_done(3);
    life.worker.reset();
  }
  for (const std::size_t left : {1U, 0U}) {
    Life life(directory.path());
    EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), left);
    EXPECT_EQ(life.balance(life.bank->first), 5);
    EXPECT_EQ(life.balance(life.bank->second), 5);
    life.worker.reset();
  }
}

TEST(ChainLog, AHalfDoneCallOfAnUnknownProcedureIsNamed) {
  const tests::TemporaryDirectory directory;
  {
    Life life(directory.path());
    ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
    life.fill(10);
    life.leave_half_done(3);
    life.worker.reset();
  }
  Life life(directory.path());
  Procedures others;
  const auto nothing = [](Transaction&, const Move&, Moved&) {};
  ASSERT_TRUE((others.add_chain<Move, Moved>("other", {{{}, nothing}, {{}, nothing}}).ok()));
  EXPECT_NE(others.keep_chains(*life.database, *life.worker).status().message().find("a call of 'move'"),
            std::string::npos);
  life.worker.reset();
}

/// Its note would be larger than a value may be. It must not begin, since nobody could finish it after a crash.
TEST(ChainLog, ACallThatCannotBeNotedDoesNotBegin) {
  struct Huge {
    std::array<char, kMaxValueBytes> bytes;
  };
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  const auto add = [&life](Transaction& t, const Huge&, Moved&) { (void)t.put(life.bank->first, 1, 1); };
  Procedures procedures;
  const auto huge = procedures
                        .add_chain<Huge, Moved>("huge", {{.accesses = {{"first", AccessMode::kWrite}}, .body = add},
                                                         {.accesses = {{"second", AccessMode::kAdd}}, .body = add}})
                        .value();
  ASSERT_TRUE(procedures.keep_chains(*life.database, *life.worker).ok());
  Moved moved;
  const RunResult done = procedures.call(*life.worker, huge, *std::make_unique<Huge>(), moved);
  EXPECT_FALSE(done.committed());
  EXPECT_EQ(done.pieces_left, 0U);
  EXPECT_EQ(life.balance(life.bank->first), 0);
  life.worker.reset();
}

TEST(ChainLog, UntilChainsAreKeptTheyRunAsOneTransaction) {
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  life.fill(10);
  life.bank->fails = true;
  Moved moved;
  EXPECT_EQ(life.procedures.call(*life.worker, life.procedure, Move{1, 1, 3}, moved).pieces_left, 0U);
  EXPECT_EQ(life.balance(life.bank->first), 10);
  EXPECT_EQ(life.procedures.calls_left(), 0U);
  EXPECT_EQ(life.procedures.finish_left(*life.worker), 0U);
  ASSERT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  EXPECT_EQ(life.procedures.call(*life.worker, life.procedure, Move{1, 1, 3}, moved).pieces_left, 1U);
  life.worker.reset();
}

/// Without chains in pieces the pieces share one transaction, so a commit by the first would leave the others out.
TEST_F(ChainTest, AWholeRunWhoseFirstPieceCommitsIsMisuse) {
  bank_.commits = Bank::Commits::kFirst;
  const RunResult done = move(3);
  EXPECT_EQ(done.reason, AbortReason::kMisuse);
  EXPECT_EQ(done.pieces_left, 0U);
  EXPECT_EQ(done.attempts, 1U) << "another attempt does the same";
  EXPECT_EQ(bank_.refused, AbortReason::kMisuse);
  EXPECT_EQ(balance(bank_.first), 10) << "it committed what the first piece had done, and left the second one out";
  EXPECT_EQ(balance(bank_.second), 0);
}

TEST_F(ChainTest, AWholeRunWhoseLastPieceCommitsIsMisuse) {
  bank_.commits = Bank::Commits::kLast;
  EXPECT_EQ(move(3).reason, AbortReason::kMisuse);
  EXPECT_EQ(balance(bank_.first), 10);
  EXPECT_EQ(balance(bank_.second), 0);
}

/// A procedure of one piece may call commit(), as any body of Worker::run() may.
TEST_F(ChainTest, AProcedureThatIsNoChainMayCommit) {
  const auto commit = [this](Transaction& t, const Move&, Moved&) {
    (void)t.put(bank_.second, 1, 5);
    EXPECT_TRUE(t.commit().committed());
  };
  const auto alone = procedures_.add<Move, Moved>("alone", commit, DeclaredAccesses{}).value();
  EXPECT_TRUE(procedures_.call(database_.worker(0), alone, Move{1, 1, 3}, moved_).committed());
  std::string reply;
  const std::string args(sizeof(Move), '\0');
  EXPECT_TRUE(procedures_.call(database_.worker(0), "alone", args, reply)->committed());
  EXPECT_EQ(balance(bank_.second), 5);
}

/// Calls a chain that is kept and whose pieces commit as `commits` says, which is misuse. Returns how many pieces are
/// left.
std::size_t pieces_left_by_a_commit(Life& life, Bank::Commits commits) {
  EXPECT_TRUE(life.procedures.keep_chains(*life.database, *life.worker).ok());
  life.fill(10);
  life.bank->commits = commits;
  Moved moved;
  const RunResult done = life.procedures.call(*life.worker, life.procedure, Move{1, 1, 3}, moved);
  EXPECT_EQ(done.reason, AbortReason::kMisuse);
  return done.pieces_left;
}

TEST(ChainLog, AFirstPieceThatCommitsHasDoneNothing) {
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  EXPECT_EQ(pieces_left_by_a_commit(life, Bank::Commits::kFirst), 0U);
  EXPECT_EQ(life.bank->refused, AbortReason::kMisuse);
  EXPECT_EQ(life.balance(life.bank->first), 10) << "the first piece committed without its note";
  EXPECT_EQ(life.procedures.calls_left(), 0U);
  life.worker.reset();
}

/// If the last piece committed, its note would stay, and each life would run it once more.
TEST(ChainLog, ALastPieceThatCommitsIsLeft) {
  const tests::TemporaryDirectory directory;
  {
    Life life(directory.path());
    EXPECT_EQ(pieces_left_by_a_commit(life, Bank::Commits::kLast), 1U);
    EXPECT_EQ(life.balance(life.bank->second), 0);
    EXPECT_EQ(life.procedures.finish_left(*life.worker), 1U);
    ASSERT_EQ(life.notices.size(), 1U);
    EXPECT_NE(life.notices[0].text.find("a piece must not call commit()"), std::string::npos) << life.notices[0].text;
    life.worker.reset();
  }
  for (const std::size_t finished : {1U, 0U}) {
    Life life(directory.path());
    EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), finished);
    EXPECT_EQ(life.balance(life.bank->second), 3);
    life.worker.reset();
  }
}

/// As other nodes of a cluster do, which call as soon as a node has started.
TEST(ChainLog, CallsMayGoOnWhileChainsBeginToBeKept) {
  constexpr int kCalls = 300;
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  life.fill(kCalls);
  std::atomic<int> done{0};
  std::thread caller([&] {
    Worker worker = life.database->register_worker().value();
    Moved moved;
    for (; done < kCalls; ++done)
      EXPECT_TRUE(life.procedures.call(worker, life.procedure, Move{1, 1, 1}, moved).committed());
  });
  while (done < kCalls / 3) std::this_thread::yield();
  EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), 0U);
  caller.join();
  EXPECT_EQ(life.balance(life.bank->first), 0);
  EXPECT_EQ(life.balance(life.bank->second), kCalls);
  EXPECT_EQ(life.procedures.calls_left(), 0U);
  life.worker.reset();
}

TEST(ChainLog, WithoutChainsThereIsNothingToKeep) {
  const tests::TemporaryDirectory directory;
  Life life(directory.path());
  Procedures none;
  ASSERT_TRUE((none.add<Move, Moved>("look", [](Transaction&, const Move&, Moved&) {}).ok()));
  EXPECT_NE(none.keep_chains(*life.database, *life.worker).status().message().find("no procedure is a chain"),
            std::string::npos);
  ASSERT_TRUE((none.add_chain<Move, Moved>("c", {{{}, [](Transaction&, const Move&, Moved&) {}},
                                                 {{}, [](Transaction&, const Move&, Moved&) {}}})
                   .ok()));
  EXPECT_NE(none.keep_chains(*life.database, *life.worker).status().message().find("'look' has not declared"),
            std::string::npos);
  life.worker.reset();
}

}  // namespace
}  // namespace granary
