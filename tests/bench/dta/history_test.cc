// Histories of transactions with intervals of timestamps are serializable: stepped on one thread in a random order, also inside of one
// another's reads and commits, where each seed replays exactly; and on threads. They need not be strictly serializable.

#include <deque>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "bench/append/history/check.h"
#include "src/base/test_hooks.h"
#include "tests/bench/dta/list_client.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::bench::dta {
namespace {

history::History history_of(const std::deque<ListClient>& clients) {
  history::History all;
  for (const ListClient& client : clients) all.insert(all.end(), client.history().begin(), client.history().end());
  sort_by_time(all);
  return all;
}

/// The verdict of a history of so many clients, stepped in an order that the seed chooses.
class Interleaver {
 public:
  explicit Interleaver(std::uint64_t seed) : random_(seed), lists_(std::make_unique<Lists>(500)) {
    for (std::uint32_t i = 0; i < kClients; ++i) clients_.emplace_back(*lists_, i, seed, waiter_);
    if (!base::kTestHooks) return;
    base::set_sync_hook([this](std::string_view point) {
      if (point != "dta.replacing") interrupt();  // in the critical section, which others want
    });
  }
  ~Interleaver() { base::set_sync_hook({}); }

  history::History run(int turns) {
    for (int turn = 0; turn < turns && lists_->room(); ++turn) step_any();
    base::set_sync_hook({});
    for (ListClient& client : clients_) client.run_to_end();
    clients_.front().read_all();
    return history_of(clients_);
  }

 private:
  static constexpr std::uint32_t kClients = 5;

  void step_any() {
    ListClient& client = clients_[random_.below(kClients)];
    if (!client.running()) client.step();
  }
  /// Now and then others go on where one is inside of a step; to a limited depth.
  void interrupt() {
    constexpr int kDeepest = 3;
    if (depth_ >= kDeepest || random_.below(4) != 0) return;
    ++depth_;
    for (std::uint64_t steps = random_.below(8); steps != 0; --steps) step_any();
    --depth_;
  }

  base::Random random_;
  const std::unique_ptr<Lists> lists_;
  base::BriefWaiter waiter_;
  std::deque<ListClient> clients_;
  int depth_ = 0;
};

TEST(DtaHistory, InterleavedOnOneThread) {
  std::size_t committed = 0, aborted = 0, not_strict = 0;
  for (const std::uint64_t seed : tests::seeds(tests::sampled(150))) {
    const history::History history = Interleaver(seed).run(500);
    const history::Verdict verdict = check(history, {.strict = false});
    ASSERT_TRUE(verdict.valid()) << verdict.text();
    committed += verdict.committed;
    aborted += verdict.aborted;
    if (!check(history, {.strict = true}).valid()) ++not_strict;
  }
  if (!tests::all_seeds()) return;
  EXPECT_GT(committed, aborted / 2);
  EXPECT_GT(aborted, 1000u);
  EXPECT_GT(not_strict, 0u) << "transactions go before others that had ended when they began";
}

TEST(DtaHistory, OnThreads) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::size_t kKeys = 3000;
  const auto lists = std::make_unique<Lists>(kKeys);
  base::ThreadWaiter waiter;
  std::deque<ListClient> clients;
  for (std::uint32_t i = 0; i < kThreads; ++i) clients.emplace_back(*lists, i, 7, waiter);
  std::vector<std::thread> threads;
  for (ListClient& client : clients) {
    threads.emplace_back([&] {
      for (std::uint32_t step = 0; lists->room(); ++step) {
        client.step();
        if (step % 7 == 0) std::this_thread::yield();  // on few processors, that is where interleavings come from
      }
      client.run_to_end();
    });
  }
  for (std::thread& thread : threads) thread.join();
  clients.front().read_all();
  const history::Verdict verdict = check(history_of(clients), {.strict = false});
  EXPECT_TRUE(verdict.valid()) << verdict.text();
  EXPECT_GT(verdict.committed, 1000u);
  EXPECT_GT(verdict.aborted, 100u);
}

}  // namespace
}  // namespace granary::bench::dta
