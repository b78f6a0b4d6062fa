#pragma once
// What checkpoints cost: throughput while one is in progress against throughput while none is, in one run.

#include <cstdint>

namespace granary::bench {

class CheckpointCost {
 public:
  /// One look at a running measurement.
  struct Look {
    std::uint64_t ns = 0;
    std::uint64_t requests = 0;      ///< ended so far
    double seconds_in_progress = 0;  ///< of checkpoints, so far
  };

  /// What lies between the former look and this one does not count.
  void begin(const Look& look) { last_ = look; }
  /// What lies between them counts, unless a checkpoint began or ended there.
  void observe(const Look& look);

  bool seen_during() const { return during_.seconds > 0; }
  bool seen_without() const { return without_.seconds > 0; }
  /// Requests a second; 0 if it was never seen.
  double throughput_during() const { return during_.rate(); }
  double throughput_without() const { return without_.rate(); }
  /// Of the two; 0 if one was never seen.
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
