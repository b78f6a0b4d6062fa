// Transactions that move counts between parts of records on threads: what others read of a record in parts, as a whole,
// or in a snapshot always adds up.

#include <array>
#include <random>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

constexpr std::size_t kParts = 9;
constexpr std::uint32_t kRows = 6;
constexpr std::int64_t kSum = 900;
using Row = std::array<std::int64_t, kParts>;

class PartsStress {
 public:
  explicit PartsStress(const Options& options) : database_(Database::open(options).value()) {
    table_ = database_->create_table("rows", {.max_value_bytes = sizeof(Row)}).value();
    Worker worker = database_->register_worker().value();
    Row row;
    row.fill(kSum / static_cast<std::int64_t>(kParts));
    EXPECT_TRUE(worker.run([&](Transaction& t) {
      for (std::uint32_t id = 0; id < kRows; ++id)
        EXPECT_EQ(t.put(table_, key(id), {reinterpret_cast<const char*>(row.data()), sizeof row}), Outcome::kOk);
    }));
  }

  Database& database() { return *database_; }

  /// Between two parts of one record, or of two. True if it committed.
  bool move(Worker& worker, std::mt19937& random) {
    const std::string from = key(random() % kRows), to = random() % 2 == 0 ? from : key(random() % kRows);
    const std::size_t part = random() % kParts, other = (part + 1 + random() % (kParts - 1)) % kParts;
    Transaction t = worker.begin();
    std::int64_t left = 0, right = 0;
    if (!read(t, from, part, left) || !read(t, to, other, right)) return false;
    maybe_yield(random());
    return write(t, from, part, left - 3) && write(t, to, other, right + 3) && t.commit().committed();
  }
  /// The sum of all parts, each row read in parts or as a whole.
  bool adds_up(Worker& worker, std::mt19937& random, bool& wrong) {
    Transaction t = worker.begin();
    std::int64_t sum = 0;
    for (std::uint32_t id = 0; id < kRows; ++id) {
      Row row{};
      if (random() % 2 == 0) {
        if (!t.get(table_, key(id), bytes_of(row))) return false;
      } else {
        for (std::size_t part = 0; part < kParts; ++part)
          if (!read(t, key(id), part, row[part])) return false;
      }
      for (const std::int64_t count : row) sum += count;
    }
    if (!t.commit().committed()) return false;
    wrong = sum != kSum * kRows;
    return true;
  }

 private:
  static std::string key(std::uint32_t id) { return "row " + std::to_string(id); }
  static std::span<char> bytes_of(Row& row) { return {reinterpret_cast<char*>(row.data()), sizeof row}; }
  bool read(Transaction& t, const std::string& key, std::size_t part, std::int64_t& count) {
    const GetResult got = t.get_part(table_, key, part * sizeof count, {reinterpret_cast<char*>(&count), sizeof count});
    return got && got.size == sizeof count;
  }
  bool write(Transaction& t, const std::string& key, std::size_t part, std::int64_t count) {
    return t.update_part(table_, key, part * sizeof count, {reinterpret_cast<const char*>(&count), sizeof count}) ==
           Outcome::kOk;
  }

  std::unique_ptr<Database> database_;
  Table table_;
};

TEST(PartsStressTest, SumsHoldWhateverIsReadInParts) {
  PartsStress rows(stress_options());
  std::atomic<std::uint64_t> moves{0}, sums{0}, wrong{0};
  const auto enough = [&] { return are_above({{moves, 50}, {sums, 10}}); };
  run_threads_until(enough, rows.database(), 4, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    if (me < 2) {
      if (rows.move(worker, random)) moves.fetch_add(1);
      return;
    }
    bool off = false;
    if (rows.adds_up(worker, random, off)) sums.fetch_add(1);
    if (off) wrong.fetch_add(1);
  });
  EXPECT_EQ(wrong.load(), 0u);
  Worker worker = rows.database().register_worker().value();
  std::mt19937 random(1);
  bool off = true;
  while (!rows.adds_up(worker, random, off)) {
  }
  EXPECT_FALSE(off) << "in the end";
  EXPECT_GT(moves.load(), 50u);
  EXPECT_GT(sums.load(), 10u);
}

}  // namespace
}  // namespace granary::tests
