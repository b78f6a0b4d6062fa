#pragma once
// Dynamic timestamp allocation (DTA), as TicToc's appendix models it to compare with (Yu et al., SIGMOD 2016, Figure 12). Such protocols
// keep a graph of all active transactions and the order among them, behind one lock. The paper leaves the graph out and keeps the lock,
// which bounds from above what any of them could do; so does this, over TicToc's commit.

#include <mutex>

namespace granary::bench::ycsb {

/// One for all sessions. Whoever is about to commit passes through it.
class CriticalSection {
 public:
  void pass() { const std::lock_guard inside(mutex_); }

 private:
  std::mutex mutex_;
};

}  // namespace granary::bench::ycsb
