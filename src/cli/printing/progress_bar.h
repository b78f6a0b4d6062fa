#pragma once
// Shows on standard error how far a recovery, or another tool that reads much, has come: bytes, rate, time left.

#include <cstdint>
#include <string>

#include <granary/options.h>

namespace granary::cli {

class ProgressBar {
 public:
  /// If `terminal`, draws over one line; else prints a line every few seconds, for logs.
  explicit ProgressBar(bool terminal);
  /// Ends the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows the progress. Cheap enough to call often.
  void show(const RecoveryProgress& progress);

 private:
  const bool terminal_;
  const std::uint64_t start_ns_;
  std::uint64_t next_ns_;
  bool drawn_ = false;
};

/// Returns "[#####-----]  50 %  1.0 MiB of 2.0 MiB, 1.0 MiB/s, 1 s left". Without a known end it has only bytes and
/// rate, and in the first hundredth no time.
std::string progress_text(const RecoveryProgress& progress, double seconds);

}  // namespace granary::cli
