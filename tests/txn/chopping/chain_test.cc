// Procedures that run in pieces: order, retries, and what a crash between pieces leaves. The crash is one of the call: the database
// closes and is opened again. And who finishes, in the same life, what could not go on. Not here: which chains may (chopping_test.cc), and
// nodes that are away (tests/node/chain_test.cc).

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

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
      if (on_give) on_give(move, moved);
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
  std::function<void(const Move&, const Moved&)> on_give;
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
    options.notices = [this](const Notice& notice) {
      if (notice.topic == NoticeTopic::kChains) notices.push_back(notice);
    };
    database = Database::open(options).value();
    worker.emplace(database->register_worker().value());
    bank.emplace(*database);
    procedure = bank->add_to(procedures);
  }
  void fill(std::int64_t money) {
    EXPECT_TRUE(worker->run([&](Transaction& t) { (void)t.put(bank->first, 1, money); }).committed());
  }
  /// Moves so much by a call whose second piece does not commit.
  void leave_half_done(std::int64_t amount) {
    bank->fails = true;
    Moved moved;
    const RunResult half = procedures.call(*worker, procedure, Move{1, 1, amount}, moved);
    EXPECT_FALSE(half.committed());
    EXPECT_EQ(half.pieces_left, 1U);
  }
  std::int64_t balance(const Accounts& table) {
    std::int64_t found = 0;
    EXPECT_TRUE(worker->run([&](Transaction& t) { found = t.get(table, 1).value_or(0); }).committed());
    return found;
  }

  std::vector<Notice> notices;  ///< of chains; first, so that the database may tell until it is gone
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
