#pragma once
// A bank whose one procedure is a chain of two pieces, and lives of a database that has it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/manual_database.h"

namespace granary::tests {

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
      if (commits == Commits::kFirst) refused = t.commit().reason;
    };
    const auto give = [this](Transaction& t, const Move& move, Moved& moved) {
      const std::int64_t before = t.get(second, move.to).value_or(0);
      if (between) between();
      if (on_give) on_give(move, moved);
      (void)t.put(second, move.to, before + move.amount);
      ++moved.pieces;
      if (commits == Commits::kLast) refused = t.commit().reason;
      if (fails) t.abort();
    };
    return procedures
        .add_chain<Move, Moved>("move", {{.accesses = {{"first", AccessMode::kWrite}}, .body = take},
                                         {.accesses = {{"second", AccessMode::kAdd}}, .body = give}})
        .value();
  }

  /// The piece that calls commit(), which no piece may.
  enum class Commits : std::uint8_t { kNone, kFirst, kLast };

  Accounts first, second;
  std::function<void()> between;
  std::function<void(const Move&, const Moved&)> on_give;
  bool fails = false;
  Commits commits = Commits::kNone;
  AbortReason refused = AbortReason::kNone;  ///< what such a commit() has returned
};

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

}  // namespace granary::tests
