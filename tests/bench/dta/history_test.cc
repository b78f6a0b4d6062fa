// Histories of transactions with intervals of timestamps are serializable: stepped on one thread in a random order,
// also inside of one another's reads and commits, where each seed replays exactly; and on threads. They need not be
// strictly serializable.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bench/append/history/check.h"
#include "bench/append/history/history.h"
#include "bench/append/key_slots.h"
#include "bench/dta/transaction.h"
#include "src/base/random.h"
#include "src/base/test_hooks.h"
#include "tests/bench/dta/rows.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::bench::dta {
namespace {

// --- list-append transactions: a row has a list's elements and then zeros, a second row its last element, written
// blindly ---

/// The clients of one history share this.
struct Lists {
  static constexpr std::uint32_t kSlots = 3, kLongest = 12;
  static constexpr std::size_t kBytes = kLongest * sizeof(history::Element);

  explicit Lists(std::size_t keys) : rows(2 * keys, kBytes) {}
  Row& list(history::Key key) { return rows[2 * static_cast<std::size_t>(key)]; }
  Row& last(history::Key key) { return rows[2 * static_cast<std::size_t>(key) + 1]; }
  /// False if the next appends may need keys that there are no rows of.
  bool room() const {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      if (2 * static_cast<std::size_t>(slots.current(slot) + 4 * kSlots) >= rows.size()) return false;
    }
    return true;
  }

  Certifier certifier;
  Rows rows;
  append::KeySlots slots{kSlots, kLongest};
  std::atomic<std::uint64_t> now{0};  // the history's time; seq_cst, as it orders what threads do
};

/// One session's transactions, which go on step by step.
class ListClient {
 public:
  ListClient(Lists& lists, std::uint32_t number, std::uint64_t seed, base::Waiter& waiter)
      : lists_(lists),
        number_(number),
        random_(seed, number),
        transaction_(lists.certifier, number, Lists::kBytes, waiter) {}

  bool open() const { return open_; }
  /// Inside of one of its own steps.
  bool running() const { return running_; }
  /// Begins, does one operation, or commits.
  void step() {
    running_ = true;
    if (!open_) {
      begin(draw());
    } else if (next_ == ops_.size()) {
      end(transaction_.commit() == AbortReason::kNone);
    } else if (!execute(ops_[next_++])) {
      transaction_.abort();
      end(false);
    }
    running_ = false;
  }
  void run_to_end() {
    while (open_) step();
  }
  /// Reads all lists, each in a transaction of its own.
  void read_all() {
    for (const history::Key key : lists_.slots.all()) {
      begin({history::MicroOp::read(key), history::MicroOp::last(key)});
      run_to_end();
    }
  }
  const history::History& history() const { return history_; }

 private:
  std::vector<history::MicroOp> draw() {
    std::vector<history::MicroOp> ops;
    for (std::uint64_t left = random_.below(4) + 1; left != 0; --left) {
      const auto slot = static_cast<std::uint32_t>(random_.below(Lists::kSlots));
      switch (random_.below(4)) {
        case 0: ops.push_back(history::MicroOp::last(lists_.slots.current(slot))); break;
        case 1: ops.push_back(history::MicroOp::read(lists_.slots.current(slot))); break;
        default: {
          const auto [key, element] = lists_.slots.next(slot);
          ops.push_back(history::MicroOp::append(key, element));
        }
      }
    }
    return ops;
  }
  void begin(std::vector<history::MicroOp> ops) {
    ops_ = std::move(ops);
    next_ = 0;
    open_ = true;
    note(history::EventType::kInvoke);
    transaction_.begin();
  }
  void end(bool committed) {
    open_ = false;
    note(committed ? history::EventType::kOk : history::EventType::kFail);
  }
  bool execute(history::MicroOp& op) {
    history::Element elements[Lists::kLongest] = {};
    const std::span<char> buffer(reinterpret_cast<char*>(elements), Lists::kBytes);
    if (op.kind == history::MicroOp::Kind::kAppend) {
      if (!transaction_.claim(lists_.list(op.key), buffer)) return false;
      *std::find(std::begin(elements), std::end(elements), 0) = op.element;
      transaction_.write(lists_.list(op.key), {buffer.data(), buffer.size()});
      if (!transaction_.claim(lists_.last(op.key), {})) return false;
      history::Element last[Lists::kLongest] = {op.element};
      transaction_.write(lists_.last(op.key), {reinterpret_cast<const char*>(last), Lists::kBytes});
      return true;
    }
    const bool whole = op.kind == history::MicroOp::Kind::kRead;
    if (!transaction_.read(whole ? lists_.list(op.key) : lists_.last(op.key), buffer)) return false;
    std::vector<history::Element> found(std::begin(elements), std::find(std::begin(elements), std::end(elements), 0));
    op = whole ? history::MicroOp::read(op.key, std::move(found)) : history::MicroOp::last(op.key, std::move(found));
    return true;
  }
  void note(history::EventType type) { history_.push_back({type, number_, lists_.now.fetch_add(1), ops_}); }

  Lists& lists_;
  const std::uint32_t number_;
  base::Random random_;
  Transaction transaction_;
  std::vector<history::MicroOp> ops_;
  std::size_t next_ = 0;
  bool open_ = false, running_ = false;
  history::History history_;
};

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
  // The threads meet after every few steps, mostly with transactions open. So these overlap even where the machine has
  // time for one thread only.
  std::barrier meeting(kThreads);
  std::vector<std::thread> threads;
  for (ListClient& client : clients) {
    threads.emplace_back([&] {
      for (std::uint32_t step = 0; lists->room(); ++step) {
        client.step();
        if (step % 7 == 0) meeting.arrive_and_wait();
      }
      meeting.arrive_and_drop();
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
