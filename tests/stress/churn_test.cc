// Insert and delete all the time: scans always count the same, and memory stays level.

#include <random>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

constexpr std::uint32_t kPlaces = 400;
constexpr std::uint32_t kTokens = 60;

/// Tokens move between places: each move removes one row and inserts another, so every state has the same number.
struct Board {
  Board() : database(Database::open(stress_options()).value()) {
    table = database->create_table("board").value();
    Worker worker = database->register_worker().value();
    const RunResult made = worker.run([&](Transaction& t) {
      for (std::uint32_t token = 0; token < kTokens; ++token)
        EXPECT_EQ(t.insert(table, place(token * 5), "token"), Outcome::kOk);
    });
    EXPECT_TRUE(made);
    made_in = made.ticket.epoch;
  }

  /// Some keys share long prefixes, so that layers of the index come and go.
  static std::string place(std::uint32_t number) {
    std::string key = number % 3 == 0 ? "" : number % 3 == 1 ? "prefix of eight bytes and more " : "prefix o";
    key.append(encode_key(number).view());
    return key;
  }

  bool move(Worker& worker, std::mt19937& random) const {
    Transaction t = worker.begin();
    if (t.remove(table, place(random() % kPlaces)) != Outcome::kOk) return false;
    maybe_yield(random());
    if (t.insert(table, place(random() % kPlaces), "token") != Outcome::kOk) return false;
    return t.commit().committed();
  }

  template <typename Reader>
  std::size_t count(Reader& reader, Order order) const {
    std::size_t tokens = 0;
    std::string last;
    const ScanResult scanned = reader.scan(table, {.order = order}, [&](std::string_view key, std::string_view value) {
      const bool ordered = tokens == 0 || (order == Order::kAscending ? last < key : last > key);
      EXPECT_TRUE(ordered) << "scan out of order";
      EXPECT_EQ(value, "token");
      last = key;
      ++tokens;
      return true;
    });
    return scanned ? tokens : 0;
  }

  std::unique_ptr<Database> database;
  Table table;
  std::uint64_t made_in = 0;  // the epoch of the tokens
};

TEST(ChurnStress, ScansCountEveryTokenOnce) {
  const Board board;
  std::atomic<std::uint64_t> moves{0}, counts{0}, wrong{0};
  const auto enough = [&] { return are_above({{moves, 100}, {counts, 10}}); };
  run_threads_until(enough, *board.database, 4, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    if (me < 2) {
      if (board.move(worker, random)) moves.fetch_add(1);
      return;
    }
    const Order order = random() % 2 == 0 ? Order::kAscending : Order::kDescending;
    if (me == 2) {
      Transaction t = worker.begin();
      const std::size_t tokens = board.count(t, order);
      if (!t.commit()) return;
      if (tokens != kTokens) wrong.fetch_add(1);
    } else {
      Snapshot snapshot = worker.snapshot();
      if (snapshot.epoch() <= board.made_in) return;  // it does not see the tokens
      if (board.count(snapshot, order) != kTokens) wrong.fetch_add(1);
    }
    counts.fetch_add(1);
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(moves.load(), 100u);
  EXPECT_GT(counts.load(), 10u);
}

TEST(ChurnStress, MemoryStaysLevel) {
  const Board board;
  const auto round = [&] {
    run_threads(
        *board.database, 3,
        [&](Worker& worker, unsigned me) {
          thread_local std::mt19937 random(me);
          board.move(worker, random);
          if (me == 0) {
            (void)worker.run([&](Transaction& t) {
              (void)t.put(board.table, "growing and shrinking", std::string(random() % 20'000, 'g'));
              (void)t.remove(board.table, "growing and shrinking");
            });
          }
        },
        stress_time() / 5);
    return board.database->statistics().reserved_bytes;
  };
  round();
  const std::uint64_t warm = round();
  std::uint64_t last = 0;
  for (int i = 0; i < 6; ++i) last = round();
  EXPECT_LE(last, warm * 3 / 2) << "garbage is not used again";
}

TEST(ChurnStress, GarbageGoesWhenTheWorkIsDone) {
  const Board board;
  run_threads(
      *board.database, 3,
      [&](Worker& worker, unsigned me) {
        thread_local std::mt19937 random(me);
        board.move(worker, random);
      },
      stress_time() / 5);
  Worker worker = board.database->register_worker().value();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (board.database->statistics().version_bytes != 0 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    worker.collect_garbage();
  }
  EXPECT_EQ(board.database->statistics().version_bytes, 0u) << "garbage of workers that left";
}

}  // namespace
}  // namespace granary::tests
