#pragma once
// List-append transactions on rows, and the history of them. A row has a list's elements and then zeros; a second row has its last
// element, which each append writes blindly.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "bench/append/history/history.h"
#include "bench/append/key_slots.h"
#include "bench/dta/transaction.h"
#include "src/base/random.h"
#include "tests/bench/dta/rows.h"

namespace granary::bench::dta {

/// What the clients of one history share.
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

}  // namespace granary::bench::dta
