#pragma once
// Shows a person how far a benchmark is, with one line a second on standard error.

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/harness/workload.h"

namespace granary::bench {

/// Prints one second of a run: "[    3 s]  1,234,567 /s   aborts 0.12 %   records ... ".
void print_progress(const Sample& sample, double length_seconds);

/// Returns failed attempts among all attempts of transactions in a second, 0 to 1, as the result does for the whole
/// run.
double abort_share(const Sample& sample);

/// Prints how much of a load is done, about once a second.
class LoadProgress final : public Progress {
 public:
  LoadProgress(std::string what, std::uint64_t units, bool print);
  /// Adds units that are done. Any thread may call it; cheap enough for every few hundred units.
  void add(std::uint64_t done) override;

 private:
  const std::string what_;
  const std::uint64_t units_;
  const bool print_;
  const std::uint64_t start_ns_;
  std::atomic<std::uint64_t> done_{0};       // added to by all loaders, relaxed
  std::atomic<std::uint64_t> next_line_ns_;  // the thread that moves it on by CAS prints the line; relaxed
};

/// Returns 1234567 as "1,234,567".
std::string with_commas(std::uint64_t value);
/// Returns bytes as "171 B", "3.2 MiB", "1.4 GiB".
std::string human_bytes(std::uint64_t bytes);

}  // namespace granary::bench
