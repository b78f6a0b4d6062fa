#pragma once
// When keys were last known to be missing, for protocols whose transactions may be serial before others that have committed already.
//
// A transaction that has a node set, and commits at time t, says that no key has come into these leaves before t. But the leaf does not
// remember that, as a record's rts does. So each worker has a word with the greatest such t. Who writes a record for the first time reads
// the words of all workers and goes beyond them.
//
// Order: a worker raises its word, and then looks at its leaves. Who puts a record into a leaf does so first, and reads the words behind the
// compare-and-swap that locks the record. Each side has a full fence in between (on x86-64 both are locked instructions), so either the
// one sees the word, or the other sees that the leaf has changed, and aborts.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "src/base/cache_line.h"
#include "src/record/tid.h"

namespace granary::cc {

class NodeTimes {
 public:
  /// One worker's word: the worker that has taken it writes it, and all workers read it.
  struct alignas(base::kCacheLine) Word {
    std::atomic<record::TidWord> greatest{0};
    Word* next = nullptr;  // set before the word can be found
    bool taken = true;     // under mutex_
  };

  NodeTimes() = default;
  ~NodeTimes() {
    for (Word* word = first_.load(std::memory_order_relaxed); word != nullptr;) delete std::exchange(word, word->next);
  }
  NodeTimes(const NodeTimes&) = delete;
  NodeTimes& operator=(const NodeTimes&) = delete;

  /// A word for one worker, until it gives it back. Thread-safe.
  Word& take() {
    const std::lock_guard lock(mutex_);
    for (Word* word = first_.load(std::memory_order_relaxed); word != nullptr; word = word->next) {
      if (!std::exchange(word->taken, true)) return *word;
    }
    Word* const word = new Word;
    word->next = first_.load(std::memory_order_relaxed);
    first_.store(word, std::memory_order_release);
    return *word;
  }
  /// Takes a word back. It keeps its value, which is still true.
  void give_back(Word& word) {
    const std::lock_guard lock(mutex_);
    word.taken = false;
  }

  /// Raises the word to this time. The worker that has the word calls it before it looks at its leaves.
  static void raise(Word& word, record::TidWord time) {
    if (word.greatest.load(std::memory_order_relaxed) < time) word.greatest.exchange(time, std::memory_order_seq_cst);
  }
  record::TidWord greatest() const {
    record::TidWord greatest = 0;
    for (const Word* word = first_.load(std::memory_order_acquire); word != nullptr; word = word->next)
      greatest = std::max(greatest, word->greatest.load(std::memory_order_acquire));
    return greatest;
  }

 private:
  std::atomic<Word*> first_{nullptr};  // grows at its front, under mutex_ (release); read by all (acquire)
  std::mutex mutex_;
};

}  // namespace granary::cc
