// Values that grow, shrink and move under readers: every word carries its writer and write, so a mix of two writes
// shows.

#include <random>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

constexpr std::size_t kKeys = 4;
constexpr std::size_t kMostWords = 700;

/// The size follows from the mark, so that a size taken from another write shows, too.
std::size_t words_of(std::uint64_t mark) { return 1 + mark * 2654435761u % kMostWords; }

std::string value_of(std::uint64_t mark) {
  const std::vector<std::uint64_t> words(words_of(mark), mark);
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t)};
}

bool is_of_one_mark(std::string_view value) {
  std::uint64_t mark = 0;
  if (value.size() < sizeof mark) return false;
  std::memcpy(&mark, value.data(), sizeof mark);
  return value == value_of(mark);
}

TEST(GrowingValuesStress, NoReaderSeesAMix) {
  auto database = Database::open(stress_options()).value();
  const Table table = database->create_table("values").value();
  const auto key = [](std::uint64_t number) { return "key" + std::to_string(number % kKeys); };
  {
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) {
      for (std::size_t i = 0; i < kKeys; ++i) EXPECT_EQ(t.put(table, key(i), value_of(i)), Outcome::kOk);
    }));
  }
  std::atomic<std::uint64_t> writes{0}, reads{0}, mixes{0}, marks{kKeys};
  const auto look = [&](std::string_view value) {
    reads.fetch_add(1, std::memory_order_relaxed);
    if (!is_of_one_mark(value)) mixes.fetch_add(1);
    return true;
  };
  const auto enough = [&] { return are_above({{writes, 100}, {reads, 100}}); };
  run_threads_until(enough, *database, 4, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    if (me < 2) {
      const std::string value = value_of(marks.fetch_add(1));
      if (worker.run([&](Transaction& t) { (void)t.put(table, key(random()), value); })) writes.fetch_add(1);
      return;
    }
    std::string value;
    if (me == 2) {  // single reads are whole even if the transaction does not commit
      Transaction t = worker.begin();
      if (t.get(table, key(random()), value) == Outcome::kOk) look(value);
      (void)t.scan(table, {}, [&](std::string_view, std::string_view seen) { return look(seen); });
    } else {
      Snapshot snapshot = worker.snapshot();
      for (std::size_t i = 0; i < kKeys; ++i) {
        if (snapshot.get(table, key(i), value) == Outcome::kOk) look(value);
      }
      (void)snapshot.scan(table, {}, [&](std::string_view, std::string_view seen) { return look(seen); });
    }
  });
  EXPECT_EQ(mixes.load(), 0u);
  EXPECT_GT(writes.load(), 100u);
  EXPECT_GT(reads.load(), 100u);
}

}  // namespace
}  // namespace granary::tests
