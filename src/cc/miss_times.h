#pragma once
// Protects TicToc's transactions against phantoms, by the times at which keys were last known to be missing. This
// protection is ours, not the paper's. Under TicToc a transaction may be serial before another one that has committed
// already, so comparing the versions of leaves alone is not enough.
//
// A transaction with a node set that commits at time t relies on it that no key has come into its leaves before t. A
// record remembers such a time as its rts, but a leaf has no rts. So each worker keeps a word for each table: the
// greatest such t. A transaction that writes a record for the first time reads the words of all workers for that table,
// and takes a later time. The words are kept by table: otherwise a TPC-C payment that looks for a customer's name would
// push back the times of all new orders.
//
// Order: a worker raises its words, and then compares the versions of its leaves. The first writer of a record puts the
// record into its leaf when it executes, locks it by compare-and-swap when it commits, and then reads the words. Both
// sides have a full fence in between: on x86-64 the exchange that raises a word is one, and so is the compare-and-swap.
// So either the first writer sees the raised word, or the worker sees that the leaf has changed, and aborts. The model
// tests/models/tictoc_phantom.pml fails if either side looks before its store has reached the other one
// (LOOKS_BEFORE_RAISING; WORDS_BEFORE_INSERT, and NO_FENCE with -DREGION).

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <utility>

#include "src/base/cache_line.h"
#include "src/record/tid.h"

namespace granary::cc {

class MissTimes {
 public:
  /// A set of tables: bit i stands for all tables whose number is i modulo kTables.
  using Tables = std::uint32_t;
  static constexpr std::uint32_t kTables = 32;
  static Tables bit_of(std::uint32_t table) { return Tables{1} << (table % kTables); }

  /// One worker's words: the worker that has taken them writes them, and all workers read them.
  struct alignas(base::kCacheLine) Words {
    std::array<std::atomic<record::TidWord>, kTables> greatest{};
    Words* next = nullptr;  // set before the words can be found
    bool taken = true;      // under mutex_
  };

  MissTimes() = default;
  ~MissTimes() {
    for (Words* words = first_.load(std::memory_order_relaxed); words != nullptr;)
      delete std::exchange(words, words->next);
  }
  MissTimes(const MissTimes&) = delete;
  MissTimes& operator=(const MissTimes&) = delete;

  /// Returns words for one worker, which are the worker's until it gives them back. Thread-safe.
  Words& take() {
    const std::lock_guard lock(mutex_);
    for (Words* words = first_.load(std::memory_order_relaxed); words != nullptr; words = words->next) {
      if (!std::exchange(words->taken, true)) return *words;
    }
    Words* const words = new Words;
    words->next = first_.load(std::memory_order_relaxed);
    first_.store(words, std::memory_order_release);
    return *words;
  }
  /// Takes words back. They keep their values, because the transactions that wrote them still rely on these times.
  void give_back(Words& words) {
    const std::lock_guard lock(mutex_);
    words.taken = false;
  }

  /// Raises the words of these tables to this time. The worker that has the words calls it before it looks at its
  /// leaves. The load is relaxed, as only this worker writes the words. The exchange is the full fence that the order
  /// above needs; where a word is high enough already, the exchange that raised it was that fence.
  static void raise(Words& words, Tables tables, record::TidWord time) {
    for (; tables != 0; tables &= tables - 1) {
      std::atomic<record::TidWord>& word = words.greatest[static_cast<std::size_t>(std::countr_zero(tables))];
      if (word.load(std::memory_order_relaxed) < time) word.exchange(time, std::memory_order_seq_cst);
    }
  }
  /// Returns the greatest time that any worker has noted for the table. The caller has locked the record.
  record::TidWord greatest(std::uint32_t table) const {
    record::TidWord greatest = 0;
    for (const Words* words = first_.load(std::memory_order_acquire); words != nullptr; words = words->next)
      greatest = std::max(greatest, words->greatest[table % kTables].load(std::memory_order_acquire));
    return greatest;
  }

 private:
  std::atomic<Words*> first_{nullptr};  // grows at its front, under mutex_ (release); read by all (acquire)
  std::mutex mutex_;
};

}  // namespace granary::cc
