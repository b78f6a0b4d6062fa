// Threads move money between accounts; the total stays what it was.

#include <granary/granary.h>

#include <cstdio>
#include <random>
#include <thread>
#include <vector>

struct Account {
  std::int64_t balance = 0;
};
using Accounts = granary::TypedTable<std::uint64_t, Account>;

constexpr std::uint64_t kAccounts = 1000;
constexpr int kTransfers = 50000;

granary::RunResult transfer(granary::Worker& worker, const Accounts& accounts, std::uint64_t from, std::uint64_t to) {
  return worker.run([&](granary::Transaction& t) {
    const auto source = t.get(accounts, from);
    const auto target = t.get(accounts, to);
    if (!source || !target) return;                      // doomed by a conflict: run() tries again
    if (source->balance < 5) return t.abort();           // nothing happens; run() returns kUser
    (void)t.put(accounts, from, {source->balance - 5});  // a put for which there is no room dooms the transaction
    (void)t.put(accounts, to, {target->balance + 5});
  });
}

int main() {
  const auto db = granary::Database::open({}).value();
  const Accounts accounts = db->create_table<std::uint64_t, Account>("accounts").value();
  auto teller = db->register_worker().value();
  (void)teller.run([&](granary::Transaction& t) {
    for (std::uint64_t id = 0; id < kAccounts; ++id) (void)t.put(accounts, id, {100});
  });

  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      auto worker = db->register_worker().value();  // one per thread
      std::mt19937_64 random(i);
      for (int n = 0; n < kTransfers; ++n) {
        const std::uint64_t from = random() % kAccounts;
        (void)transfer(worker, accounts, from, (from + 1 + random() % (kAccounts - 1)) % kAccounts);
      }
    });
  }
  for (auto& thread : threads) thread.join();

  long long total = 0;
  const auto audit = teller.run([&](granary::Transaction& t) {
    total = 0;  // the body may run again
    (void)t.scan(accounts, 0, kAccounts, [&](std::uint64_t, const Account& a) { return total += a.balance, true; });
  });
  std::printf("%d accounts hold %lld in all\n", static_cast<int>(kAccounts), total);
  return audit.committed() && total == 100 * static_cast<long long>(kAccounts) ? 0 : 1;
}
