// Covers checkpoints taken while real threads run transactions: each must hold one consistent state, and E goes on.

#include <cstring>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/recovery/checkpoint/checkpoint_fixture.h"
#include "tests/support/scale.h"
#include "tests/support/threads.h"

namespace granary::tests {
namespace {

constexpr std::uint64_t kAccounts = 5000;
constexpr std::int64_t kBalance = 100;

std::string account(std::uint64_t i) { return "account " + std::to_string(i * 37); }
std::string balance_text(std::int64_t amount, std::size_t padding) {
  std::string text(sizeof amount + padding, 'p');
  std::memcpy(text.data(), &amount, sizeof amount);
  return text;
}
std::int64_t balance_of(std::string_view text) {
  std::int64_t amount = 0;
  std::memcpy(&amount, text.data(), sizeof amount);
  return amount;
}

/// Few buckets, so that chains grow.
TableOptions accounts_by(IndexKind index) { return {.index = index, .expected_keys = kAccounts / 4}; }

/// Sum of all balances in a freshly loaded database; an account with nothing on it may be missing.
std::int64_t loaded_sum(const std::string& directory, std::size_t threads, IndexKind index = IndexKind::kOrdered,
                        std::uint64_t most_accounts = kAccounts) {
  ManualDatabase other(1);
  const Table table = other.table("accounts", accounts_by(index));
  const auto loaded = load(*other, read_options(directory), {table.core()}, threads);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(index == IndexKind::kHash ? table.core()->index().hash().check() : table.core()->tree().check(), "");
  std::int64_t sum = 0;
  std::uint64_t found = 0;
  Transaction t = other.begin();
  std::string value;
  for (std::uint64_t i = 0; i < most_accounts; ++i) {
    if (t.get(table, account(i), value) != Outcome::kOk) continue;
    sum += balance_of(value);
    ++found;
  }
  EXPECT_EQ(found, loaded->records);
  return sum;
}

class ConcurrentCheckpoints : public testing::TestWithParam<IndexKind> {};
INSTANTIATE_TEST_SUITE_P(Indexes, ConcurrentCheckpoints, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& index) { return index.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(ConcurrentCheckpoints, EveryOneHoldsTheSameSum) {
  const TemporaryDirectory directory;
  auto database = Database::open(stress_options()).value();
  const Table accounts = database->create_table("accounts", accounts_by(GetParam())).value();
  {
    Worker worker = database->register_worker().value();
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
      ASSERT_TRUE(worker.run(
          [&](Transaction& t) { static_cast<void>(t.put(accounts, account(i), balance_text(kBalance, 0))); }));
    }
  }
  EngineWorkers workers(*database, 1);
  cc::DatabaseState& shared = workers.shared();
  while (shared.epochs.snapshot_of(shared.epochs.current()) == 0 || database->statistics().epoch < 20) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the loading is in every snapshot from here on

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> transfers{0};
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < 2; ++me) {
    threads.emplace_back([&, me] {
      Worker worker = database->register_worker().value();
      base::Random random(me + 1);
      while (!stop) {
        const std::string from = account(random.next() % kAccounts);
        const std::string to = account(random.next() % kAccounts);
        const std::size_t padding = random.next() % 200;
        if (from == to) continue;
        // Balances move, records grow and shrink, and are removed when nothing is left, or made.
        const RunResult done = worker.run([&](Transaction& t) {
          std::string from_text, to_text;
          const bool have_from = t.get(accounts, from, from_text) == Outcome::kOk;
          const bool have_to = t.get(accounts, to, to_text) == Outcome::kOk;
          if (!have_from) return;
          const std::int64_t amount = balance_of(from_text) % 3 == 0 ? balance_of(from_text) : 1;
          const std::int64_t left = balance_of(from_text) - amount;
          if (left == 0) {
            static_cast<void>(t.remove(accounts, from));
          } else {
            static_cast<void>(t.put(accounts, from, balance_text(left, padding)));
          }
          static_cast<void>(t.put(accounts, to, balance_text((have_to ? balance_of(to_text) : 0) + amount, padding)));
        });
        if (done.committed()) ++transfers;
      }
    });
  }
  bool e_moved = false;  // during some checkpoint at least: on a busy machine its thread may not run during each
  for (unsigned round = 0; round < scaled(6); ++round) {
    SCOPED_TRACE(round);
    const std::string path = directory / ("c" + std::to_string(round));
    const epoch::Epoch before = shared.epochs.current();
    const auto pin = checkpoint::SnapshotPin::take(shared.epochs);
    ASSERT_TRUE(pin.ok());
    auto options = write_options(path, 1 + round % 3, 1 + round % 4);
    options.duty = round % 2 == 0 ? 1 : 0.05;
    txn::TableCore* const tables[] = {accounts.core()};
    const auto written = checkpoint::write_checkpoint(options, shared, *pin, tables);
    ASSERT_TRUE(written.ok()) << written.status().message();
    e_moved |= shared.epochs.current() > before + 2;
    EXPECT_EQ(loaded_sum(path, 1 + round % 2, GetParam()), static_cast<std::int64_t>(kAccounts) * kBalance);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(transfers, 1000U);
  EXPECT_TRUE(e_moved) << "E stood still";
}

TEST(ConcurrentCheckpoint, LoadingManyPartitionsByManyThreadsIntoOneTree) {
  const TemporaryDirectory directory;
  ManualDatabase database(1);
  const Table table = database.table("accounts");
  for (std::uint64_t i = 0; i < 30'000; i += 100) {
    database.commit([&](Transaction& t) {
      for (std::uint64_t j = i; j < i + 100; ++j)
        EXPECT_EQ(t.put(table, account(j), balance_text(1, 50)), Outcome::kOk);
    });
  }
  database.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database, write_options(directory / "c", 6, 3), {table.core()}).ok());
  EXPECT_EQ(loaded_sum(directory / "c", 4, IndexKind::kOrdered, 30'000), 30'000);

  // Twice at once: every record meets itself.
  ManualDatabase other(1);
  const Table twice = other.table("accounts");
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(load(*other, read_options(directory / "c"), {twice.core()}, 2).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(twice.core()->tree().check(), "");
  EXPECT_EQ(twice.core()->tree().statistics().keys, 30'000U);
}

TEST(ConcurrentCheckpoint, TwoCheckpointsLoadedAtOnceLeaveTheNewerVersions) {
  constexpr std::uint64_t kRecords = 3000;
  constexpr int kCheckpoints = 3;
  const TemporaryDirectory directory;
  ManualDatabase database(1);
  const Table table = database.table("accounts");
  for (int version = 0; version < kCheckpoints; ++version) {
    database.commit([&](Transaction& t) {
      for (std::uint64_t i = 0; i < kRecords; ++i)
        EXPECT_EQ(t.put(table, account(i), account(i) + std::string(i % 3 * 40, static_cast<char>('a' + version))),
                  Outcome::kOk);
    });
    database.pass_snapshot_period();
    ASSERT_TRUE(
        take_checkpoint(*database, write_options(directory / std::to_string(version), 2, 1), {table.core()}).ok());
  }
  for (std::uint64_t round = 0; round < scaled(10); ++round) {
    SCOPED_TRACE(round);
    ManualDatabase other(1);
    const Table loaded = other.table("accounts");
    std::vector<std::thread> threads;
    for (int version = 0; version < kCheckpoints; ++version) {
      threads.emplace_back([&, version] {
        EXPECT_TRUE(load(*other, read_options(directory / std::to_string(version)), {loaded.core()}, 2).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(loaded.core()->tree().statistics().keys, kRecords);
    Transaction t = other.begin();
    std::string value;
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      ASSERT_EQ(t.get(loaded, account(i), value), Outcome::kOk);
      ASSERT_EQ(value, account(i) + std::string(i % 3 * 40, 'a' + kCheckpoints - 1));
    }
  }
}

}  // namespace
}  // namespace granary::tests
