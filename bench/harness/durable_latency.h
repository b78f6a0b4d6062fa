#pragma once
// Measures the time from a request's start to the moment its result may be shown (Silo 5.3, Figure 7). Sampled requests
// wait here until the released epoch has reached theirs. Latencies are kept by type, and also for all types by the time
// of their release in the measurement.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "bench/harness/histogram.h"

namespace granary::bench {

class DurableLatency {
 public:
  /// A measurement is cut into at most so many pieces of equal length, none of which is shorter than that.
  static constexpr std::size_t kMostPieces = 50;
  static constexpr double kShortestSeconds = 0.1;
  static double piece_seconds(double measured_seconds) {
    return std::max(kShortestSeconds, measured_seconds / kMostPieces);
  }

  /// `piece_ticks` is the length of a piece.
  DurableLatency(std::size_t types, std::uint64_t piece_ticks) : piece_ticks_(piece_ticks), latencies_(types) {}

  /// Adds a sampled request that began at `start` ticks. `epoch` is the current one after its commit, so not less than
  /// its own.
  void add(std::uint8_t type, std::uint64_t epoch, std::uint64_t start) { waiting_.push_back({epoch, start, type}); }

  /// Records the latencies of results up to `released`, which may be shown now.
  void release(std::uint64_t released, std::uint64_t now) {
    while (!waiting_.empty() && waiting_.front().epoch <= released) {
      const std::uint64_t latency = now - waiting_.front().start;
      latencies_[waiting_.front().type].record(latency);
      piece_at(now).record(latency);
      waiting_.pop_front();
    }
  }

  /// Ends the measurement; no request is added any more. Results that are released later count in the last piece.
  void end(std::uint64_t now) { ends_ = now; }
  bool waits() const { return !waiting_.empty(); }

  /// Forgets all requests, as the warm-up or the measurement begins.
  void begin(std::uint64_t now) {
    begins_ = now;
    ends_ = ~std::uint64_t{0};
    waiting_.clear();
    pieces_.clear();
    for (Histogram& histogram : latencies_) histogram.reset();
  }
  const Histogram& of(std::size_t type) const { return latencies_[type]; }
  /// Returns how many requests of the type have results that may not be shown yet. They are in no latency, and would be
  /// among the longest.
  std::uint64_t unreleased(std::size_t type) const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(waiting_, [type](const Waiting& waiting) { return waiting.type == type; }));
  }
  /// Returns the latencies of all types by piece, in the order of time.
  const std::vector<Histogram>& pieces() const { return pieces_; }

 private:
  struct Waiting {
    std::uint64_t epoch;
    std::uint64_t start;
    std::uint8_t type;
  };

  /// Returns the piece of this moment. The last one takes results that are released after its end.
  Histogram& piece_at(std::uint64_t now) {
    const std::uint64_t at = std::min(now, ends_) - begins_;
    const std::size_t piece = std::min<std::uint64_t>(at / piece_ticks_, kMostPieces - 1);
    if (piece >= pieces_.size()) pieces_.resize(piece + 1);
    return pieces_[piece];
  }

  const std::uint64_t piece_ticks_;
  std::uint64_t begins_ = 0, ends_ = ~std::uint64_t{0};
  std::deque<Waiting> waiting_;  // in ascending order of epochs, as they are one worker's
  std::vector<Histogram> latencies_, pieces_;
};

}  // namespace granary::bench
