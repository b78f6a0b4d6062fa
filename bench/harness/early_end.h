#pragma once
// Lets a signal (stop_signals.h) end a measurement of several figures early, which then reports those that are
// complete.

#include <csignal>
#include <string_view>

#include "bench/harness/stop_signals.h"

namespace granary::bench {

/// Tells a measurement whether to stop. A figure that is not complete then is left out.
class EarlyEnd {
 public:
  /// `signals` may be nullptr; then nothing ends the measurement.
  explicit EarlyEnd(StopSignals* signals) : signals_(signals) {}
  bool requested() const { return signals_ != nullptr && signals_->requested(); }
  /// Calls requested() in a loop's `turn`th turn, if it is one of those that ask. Not each does, because what is timed
  /// is short.
  bool requested_at(unsigned long long turn) const { return turn % kTurnsBetween == 0 && requested(); }
  /// Notes that there is a figure to report: from now on a signal asks, and does not end the process.
  void have_figure() {
    if (signals_ != nullptr) signals_->ask_first(true);
  }

 private:
  static constexpr unsigned long long kTurnsBetween = 256;
  StopSignals* signals_;
};

/// Returns the last line of a report that tells that its measurement was cut short; empty if it came to its end.
inline std::string_view end_text(bool interrupted) {
  return interrupted ? "\ninterrupted: only the figures that were complete are here\n" : "";
}

/// Makes this process ignore the signals from now on. For a child that its parent ends, since a terminal sends them to
/// both.
inline void leave_signals_to_parent() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
}

}  // namespace granary::bench
