#include "tests/durability/bank_child.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "src/base/random.h"
#include "src/base/test_hooks.h"
#include "tests/support/htm_setting.h"

namespace granary::tests {
namespace {

constexpr auto kLongest = std::chrono::seconds(90);
constexpr auto kBetweenCheckpoints = std::chrono::milliseconds(20);
constexpr int kNotKilled = 3, kFailed = 4;

[[noreturn]] void give_up(std::string_view what, const std::string& why) {
  std::fprintf(stderr, "bank: %.*s: %s\n", static_cast<int>(what.size()), what.data(), why.c_str());
  ::_exit(kFailed);
}

void report(int pipe, const BankReport& line) {
  if (::write(pipe, &line, sizeof line) != static_cast<ssize_t>(sizeof line)) ::_exit(kFailed);
}

/// All accounts at once, or none.
void populate(Database& database, const Bank& bank) {
  Worker worker = database.register_worker().value();
  const RunResult done = worker.run([&](Transaction& t) {
    if (t.get(bank.accounts, 0)) return;
    for (std::uint64_t account = 0; account < kBankAccounts; ++account)
      static_cast<void>(t.put(bank.accounts, account, kBankBalance));
    for (std::uint64_t me = 0; me < kBankWorkers; ++me) static_cast<void>(t.put(bank.counters, me, 0));
  });
  if (!done) give_up("populate", std::string(name(done.reason)));
}

class Teller {
 public:
  Teller(Database& database, const Bank& bank, std::uint32_t me, const BankPlan& plan)
      : database_(database),
        bank_(bank),
        me_(me),
        pipe_(plan.pipe),
        random_(plan.seed, me),
        worker_(database.register_worker().value()) {}

  void transfer() {
    const Transfer transfer{random_.below(kBankAccounts), random_.below(kBankAccounts),
                            static_cast<std::int64_t>(random_.below(50))};
    std::uint64_t counter = 0;
    const RunResult done = worker_.run([&](Transaction& t) {
      const auto from = t.get(bank_.accounts, transfer.from);
      const auto count = t.get(bank_.counters, me_);
      if (!from || !count) return;
      static_cast<void>(t.put(bank_.accounts, transfer.from, *from - transfer.amount));
      const auto to = t.get(bank_.accounts, transfer.to);  // after the first write: it may be the same account
      if (!to) return;
      static_cast<void>(t.put(bank_.accounts, transfer.to, *to + transfer.amount));
      counter = *count + 1;
      static_cast<void>(t.put(bank_.counters, me_, counter));
      static_cast<void>(t.put(bank_.transfers, transfer_key(me_, counter), transfer));
    });
    if (!done) give_up("transfer", std::string(name(done.reason)));
    report(pipe_, {me_, 0, counter});
    waiting_.emplace_back(done.ticket.epoch, counter);
    report_released();
  }

 private:
  void report_released() {
    const std::uint64_t released = database_.released_epoch();
    std::uint64_t last = 0;
    for (; !waiting_.empty() && waiting_.front().first <= released; waiting_.pop_front())
      last = waiting_.front().second;
    if (last != 0) report(pipe_, {me_, 1, last});
  }

  Database& database_;
  const Bank& bank_;
  const std::uint32_t me_;
  const int pipe_;
  base::Random random_;
  Worker worker_;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> waiting_;  // epoch and counter of what is not released yet
};

void kill_at(const std::string& point, std::uint64_t pass) {
  if (point.empty()) return;
  static std::atomic<std::uint64_t> passes{0};  // of all threads; only the number counts, so relaxed
  base::set_process_sync_hook([point, pass](std::string_view here) {
    if (here == point && passes.fetch_add(1, std::memory_order_relaxed) + 1 == pass) ::kill(::getpid(), SIGKILL);
  });
}

}  // namespace

Options bank_options(const std::string& directory, const std::string& rings) {
  Options options;
  options.directory = directory;
  options.reliable_directory = rings;
  options.loggers = 2;
  options.ring_bytes = std::uint64_t{64} << 10;
  options.log_segment_bytes = std::uint64_t{64} << 10;
  options.log_reserve_bytes = 3 * options.log_segment_bytes;
  options.checkpoint_interval_s = 0;
  options.epoch_ms = 5;
  options.snapshot_epochs = 2;
  options.max_open_epochs = 0;  // whoever audits the bank takes his time
  options.memory_limit_bytes = std::uint64_t{512} << 20;
  options.huge_pages = HugePages::kOff;
  set_htm(options);
  return options;
}

Result<Bank> open_bank(Database& database) {
  auto accounts = database.create_table<std::uint64_t, std::int64_t>(
      "accounts", {.index = IndexKind::kHash, .expected_keys = kBankAccounts / 4});
  if (!accounts.ok()) return accounts.status();
  auto counters = database.create_table<std::uint64_t, std::uint64_t>("counters");
  if (!counters.ok()) return counters.status();
  auto transfers = database.create_table<std::uint64_t, Transfer>("transfers");
  if (!transfers.ok()) return transfers.status();
  const auto by_account = database.create_index(*transfers, "by_account", {.parts = {value_part(&Transfer::from)}});
  if (!by_account.ok()) return by_account.status();
  return Bank{*accounts, *counters, *transfers, *by_account};
}

[[noreturn]] void run_bank(const BankPlan& plan) {
  kill_at(plan.point, plan.pass);
  auto database = Database::open(bank_options(plan.directory, plan.rings));
  if (!database.ok()) give_up("open", database.status().message());
  const auto bank = open_bank(**database);
  if (!bank.ok()) give_up("tables", bank.status().message());
  populate(**database, *bank);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  std::vector<std::thread> tellers;
  for (std::uint32_t me = 0; me < kBankWorkers; ++me) {
    tellers.emplace_back([&, me] {
      Teller teller(**database, *bank, me, plan);
      for (;;) teller.transfer();
    });
  }
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kBetweenCheckpoints);
    if (const Status done = (*database)->checkpoint(); !done.ok()) give_up("checkpoint", done.message());
  }
  ::_exit(kNotKilled);
}

}  // namespace granary::tests
