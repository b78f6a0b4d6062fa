#pragma once
// From a request's start to the moment its result may be shown (Silo 5.3, Figure 7): sampled requests wait here until
// the released epoch has reached theirs.

#include <cstdint>
#include <deque>
#include <vector>

#include "bench/harness/histogram.h"

namespace granary::bench {

class DurableLatency {
 public:
  explicit DurableLatency(std::size_t types) : latencies_(types) {}

  /// A sampled request that began at `start` ticks; `epoch` is the current one after its commit, so not less than its own.
  void add(std::uint8_t type, std::uint64_t epoch, std::uint64_t start) { waiting_.push_back({epoch, start, type}); }

  /// Results up to `released` may be shown now.
  void release(std::uint64_t released, std::uint64_t now) {
    while (!waiting_.empty() && waiting_.front().epoch <= released) {
      latencies_[waiting_.front().type].record(now - waiting_.front().start);
      waiting_.pop_front();
    }
  }

  /// Forgets all, as the measurement begins.
  void reset() {
    waiting_.clear();
    for (Histogram& histogram : latencies_) histogram.reset();
  }
  const Histogram& of(std::size_t type) const { return latencies_[type]; }

 private:
  struct Waiting {
    std::uint64_t epoch;
    std::uint64_t start;
    std::uint8_t type;
  };
  std::deque<Waiting> waiting_;  // epochs of one worker ascend
  std::vector<Histogram> latencies_;
};

}  // namespace granary::bench
