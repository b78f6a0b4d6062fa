#pragma once
// Measures what checkpoints cost: throughput while one is in progress against throughput while none is, in one run.

#include <cstdint>

namespace granary::bench {

class CheckpointCost {
 public:
  /// One look at a running measurement.
  struct Look {
    std::uint64_t ns = 0;
    std::uint64_t requests = 0;      ///< requests that have ended so far
    double seconds_in_progress = 0;  ///< how long checkpoints were in progress so far
  };

  /// Sets the first look; the time before it does not count.
  void begin(const Look& look) { last_ = look; }
  /// Counts the time since the former look, unless a checkpoint began or ended in it.
  void observe(const Look& look);

  bool seen_during() const { return during_.seconds > 0; }
  bool seen_without() const { return without_.seconds > 0; }
  /// Return requests a second; 0 if there was no such time.
  double throughput_during() const { return during_.rate(); }
  double throughput_without() const { return without_.rate(); }
  /// Returns the ratio of the two; 0 if one of them was never seen.
  double ratio() const;

 private:
  struct Sum {
    std::uint64_t requests = 0;
    double seconds = 0;
    double rate() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
  };

  Look last_;
  Sum during_, without_;
};

}  // namespace granary::bench
