// Transfers keep the sum: what transactions, scans and snapshots see always adds up, in the middle of everything.

#include <optional>
#include <random>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

constexpr std::uint32_t kAccounts = 60;
constexpr std::int64_t kSum = std::int64_t{kAccounts} * 100;

struct Bank {
  explicit Bank(const Options& options) : database(Database::open(options).value()) {
    accounts = database->create_table<std::uint32_t, std::int64_t>("accounts").value();
    Worker worker = database->register_worker().value();
    const RunResult made = worker.run([&](Transaction& t) {
      for (std::uint32_t id = 0; id < kAccounts; ++id) EXPECT_EQ(t.put(accounts, id, 100), Outcome::kOk);
    });
    EXPECT_TRUE(made);
    made_in = made.ticket.epoch;
  }

  /// True if it committed.
  bool transfer(Worker& worker, std::mt19937& random, const TransactionOptions& options = {}) const {
    const std::uint32_t from = random() % kAccounts, to = random() % kAccounts;
    const auto amount = static_cast<std::int64_t>(random() % 10);
    Transaction t = worker.begin(options);
    const auto a = t.get(accounts, from);
    maybe_yield(random());
    const auto b = t.get(accounts, to);
    if (!a || !b || from == to) return false;
    if (t.put(accounts, from, *a - amount) != Outcome::kOk) return false;
    maybe_yield(random());
    if (t.put(accounts, to, *b + amount) != Outcome::kOk) return false;
    return t.commit().committed();
  }

  template <typename Reader>
  std::int64_t sum_by_gets(Reader& reader) const {
    std::int64_t sum = 0;
    for (std::uint32_t id = 0; id < kAccounts; ++id) sum += reader.get(accounts, id).value_or(0);
    return sum;
  }
  template <typename Reader>
  std::int64_t sum_by_scan(Reader& reader, Order order) const {
    std::int64_t sum = 0;
    (void)reader.scan(
        accounts, 0, kAccounts,
        [&](std::uint32_t, std::int64_t balance) {
          sum += balance;
          return true;
        },
        order);
    return sum;
  }

  /// Returns the sum that a transaction reads and commits when no other runs. The transaction may have to be run again:
  /// the epoch advances, and its word may share a simulated line with an account (base::lines::Table::entry_of).
  std::int64_t sum_at_the_end() const {
    Worker worker = database->register_worker().value();
    std::int64_t sum = 0;
    EXPECT_TRUE(worker.run([&](Transaction& t) { sum = sum_by_gets(t); }));
    return sum;
  }

  std::unique_ptr<Database> database;
  TypedTable<std::uint32_t, std::int64_t> accounts;
  std::uint64_t made_in = 0;  // the epoch of the accounts
};

class BankStress : public testing::TestWithParam<const char*> {};

TEST_P(BankStress, EverySumIsTheSame) {
  const std::string_view variant = GetParam();
  std::optional<WithGlobalTids> global;
  if (variant == "GlobalTids") global.emplace();
  Options options = stress_options();
  if (variant == "Replacing") options.overwrite_in_place = false;
  if (variant == "GlobalTids") options.tid_source = TidSource::kGlobal;
  if (variant == "SimpleAllocator") options.simple_allocator = true;
  Bank bank(options);
  std::atomic<std::uint64_t> transfers{0}, sums{0}, snapshots{0}, wrong{0};
  const auto enough = [&] { return are_above({{transfers, 100}, {sums, 10}, {snapshots, 10}}); };
  run_threads_until(enough, *bank.database, 4, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    if (me < 2) {
      if (bank.transfer(worker, random)) transfers.fetch_add(1);
      return;
    }
    if (me == 2) {
      Transaction t = worker.begin();
      const std::int64_t sum = random() % 2 == 0 ? bank.sum_by_gets(t) : bank.sum_by_scan(t, Order::kDescending);
      if (!t.commit()) return;
      sums.fetch_add(1);
      if (sum != kSum) wrong.fetch_add(1);
      return;
    }
    Snapshot snapshot = worker.snapshot();
    if (snapshot.epoch() <= bank.made_in) return;  // it does not see the accounts
    for (int again = 0; again < 3; ++again) {
      if (bank.sum_by_gets(snapshot) != kSum || bank.sum_by_scan(snapshot, Order::kAscending) != kSum)
        wrong.fetch_add(1);
      std::this_thread::yield();
    }
    snapshots.fetch_add(1);
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(transfers.load(), 100u);
  EXPECT_GT(sums.load(), 10u);
  EXPECT_GT(snapshots.load(), 10u);
  EXPECT_EQ(bank.sum_at_the_end(), kSum);
}
INSTANTIATE_TEST_SUITE_P(Variants, BankStress, testing::Values("Default", "Replacing", "GlobalTids", "SimpleAllocator"),
                         [](const auto& made) { return std::string(made.param); });

/// Transfers below serializable lose no update, and who reads at a level of one moment sees the sum, while others run
/// at other levels.
TEST(BankStress, TheSumSurvivesLowerLevels) {
  Bank bank(stress_options());
  std::atomic<std::uint64_t> transfers{0}, sums{0}, wrong{0};
  const auto enough = [&] { return are_above({{transfers, 100}, {sums, 10}}); };
  run_threads_until(enough, *bank.database, 4, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    const auto level = static_cast<Isolation>(random() % 3);
    if (me < 3) {
      if (bank.transfer(worker, random, {.isolation = level})) transfers.fetch_add(1);
      return;
    }
    if (level == Isolation::kRepeatableRead) return;
    Transaction t = worker.begin({.isolation = level});
    const std::int64_t sum = random() % 2 == 0 ? bank.sum_by_gets(t) : bank.sum_by_scan(t, Order::kDescending);
    if (random() % 2 == 0) static_cast<void>(t.put(bank.accounts, kAccounts + 1, sum));
    if (!t.commit()) return;
    sums.fetch_add(1);
    if (sum != kSum) wrong.fetch_add(1);
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(transfers.load(), 100u);
  EXPECT_GT(sums.load(), 10u);
  EXPECT_EQ(bank.sum_at_the_end(), kSum);
}

}  // namespace
}  // namespace granary::tests
