// Procedures that run in pieces: order, retries, and what a crash between pieces leaves. The crash is one of the call: the database
// closes and is opened again. Not here: which chains may (chopping_test.cc).

#include <optional>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

using Accounts = TypedTable<std::uint64_t, std::int64_t>;

struct Move {
  std::uint64_t from, to;
  std::int64_t amount;
};
struct Moved {
  std::int64_t left = -1;
  std::uint32_t pieces = 0;
};

/// Takes from one account of the first table, and then adds to one of the second.
struct Bank {
  explicit Bank(Database& database)
      : first(database.create_table<std::uint64_t, std::int64_t>("first").value()),
        second(database.create_table<std::uint64_t, std::int64_t>("second").value()) {}

  Procedures::Handle<Move, Moved> add_to(Procedures& procedures) {
    const auto take = [this](Transaction& t, const Move& move, Moved& moved) {
      moved.left = t.get(first, move.from).value_or(0) - move.amount;
      ++moved.pieces;
      if (moved.left < 0) return t.abort();
      (void)t.put(first, move.from, moved.left);
    };
    const auto give = [this](Transaction& t, const Move& move, Moved& moved) {
      const std::int64_t before = t.get(second, move.to).value_or(0);
      if (between) between();
      (void)t.put(second, move.to, before + move.amount);
      ++moved.pieces;
      if (fails) t.abort();
    };
    return procedures
        .add_chain<Move, Moved>("move", {{.accesses = {{"first", AccessMode::kWrite}}, .body = take},
                                         {.accesses = {{"second", AccessMode::kAdd}}, .body = give}})
        .value();
  }

  Accounts first, second;
  std::function<void()> between;
  bool fails = false;
};

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

/// A life of a database in a directory, with the bank's procedure.
struct Life {
  explicit Life(const std::string& directory) {
    Options options = tests::manual_options();
    options.background = Background::kThreads;
    options.directory = directory;
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    database = Database::open(options).value();
    worker.emplace(database->register_worker().value());
    bank.emplace(*database);
    procedure = bank->add_to(procedures);
    EXPECT_TRUE(procedures.check_chains().ok());
  }
  std::int64_t balance(const Accounts& table) {
    std::int64_t found = 0;
    EXPECT_TRUE(worker->run([&](Transaction& t) { found = t.get(table, 1).value_or(0); }).committed());
    return found;
  }

  std::unique_ptr<Database> database;
  std::optional<Worker> worker;
  std::optional<Bank> bank;
  Procedures procedures;
  Procedures::Handle<Move, Moved> procedure;
};

TEST(ChainLog, RecoveryFinishesWhatACrashCutInTwo) {
  const tests::TemporaryDirectory directory;
  {
    Life life(directory.path());
    EXPECT_EQ(life.procedures.keep_chains(*life.database, *life.worker).value(), 0U);
    (void)life.worker->run([&](Transaction& t) { (void)t.put(life.bank->first, 1, 10); });
    Moved moved;
    const RunResult whole = life.procedures.call(*life.worker, life.procedure, Move{1, 1, 2}, moved);
    EXPECT_TRUE(whole.committed());
    EXPECT_EQ(whole.pieces_left, 0U);
    const RunResult nothing = life.procedures.call(*life.worker, life.procedure, Move{1, 1, 100}, moved);
    EXPECT_FALSE(nothing.committed());
    EXPECT_EQ(nothing.pieces_left, 0U) << "it has not begun";
    life.bank->fails = true;
    const RunResult half = life.procedures.call(*life.worker, life.procedure, Move{1, 1, 3}, moved);
    EXPECT_FALSE(half.committed());
    EXPECT_EQ(half.pieces_left, 1U);
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
    (void)life.worker->run([&](Transaction& t) { (void)t.put(life.bank->first, 1, 10); });
    life.bank->fails = true;
    Moved moved;
    EXPECT_FALSE(life.procedures.call(*life.worker, life.procedure, Move{1, 1, 3}, moved).committed());
    life.worker.reset();
  }
  Life life(directory.path());
  Procedures others;
  const auto nothing = [](Transaction&, const Move&, Moved&) {};
  ASSERT_TRUE((others.add_chain<Move, Moved>("other", {{{}, nothing}, {{}, nothing}}).ok()));
  ASSERT_TRUE(others.check_chains().ok());
  EXPECT_NE(others.keep_chains(*life.database, *life.worker).status().message().find("a call of 'move'"),
            std::string::npos);
  life.worker.reset();
}

}  // namespace
}  // namespace granary
