#pragma once
// When keys were last known to be missing, for protocols whose transactions may be serial before others that have committed already.
//
// A transaction that has a node set, and commits at time t, says that no key has come into these leaves before t. But the leaf does not
// remember that, as a record's rts does. So each worker has a word for each table with the greatest such t. Who writes a record for the
// first time reads the words that all workers have for its table and goes beyond them. By tables, since a TPC-C payment that looks for a
// customer's name would otherwise push the time of all new orders.
//
// Order: a worker raises its words, and then looks at its leaves. Who puts a record into a leaf does so first, and reads the words behind the
// compare-and-swap that locks the record. Each side has a full fence in between (on x86-64 both are locked instructions), so either the
// one sees the word, or the other sees that the leaf has changed, and aborts.

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

class NodeTimes {
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

  NodeTimes() = default;
  ~NodeTimes() {
    for (Words* words = first_.load(std::memory_order_relaxed); words != nullptr;)
      delete std::exchange(words, words->next);
  }
  NodeTimes(const NodeTimes&) = delete;
  NodeTimes& operator=(const NodeTimes&) = delete;

  /// Words for one worker, until it gives them back. Thread-safe.
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
  /// Takes words back. They keep their values, which are still true.
  void give_back(Words& words) {
    const std::lock_guard lock(mutex_);
    words.taken = false;
  }

  /// Raises the words of these tables to this time. The worker that has the words calls it before it looks at its leaves.
  static void raise(Words& words, Tables tables, record::TidWord time) {
    for (; tables != 0; tables &= tables - 1) {
      std::atomic<record::TidWord>& word = words.greatest[static_cast<std::size_t>(std::countr_zero(tables))];
      if (word.load(std::memory_order_relaxed) < time) word.exchange(time, std::memory_order_seq_cst);
    }
  }
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
