#pragma once
// Lets signals stop a measurement or a node. The signals are Ctrl-C (SIGINT), SIGTERM, and SIGHUP, which says that the
// terminal has gone. The first one asks a measurement to stop early and report its figures, or a node to leave. A
// second one ends the process at once, unless it is the same signal within half a second. Before the first measurement
// there is nothing to report, so that the first signal ends the process as well. A process that was started to ignore
// SIGHUP (nohup) goes on ignoring it.

namespace granary::bench {

/// Installs the handlers while it lives. There may be one at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Says whether from now on a first signal only asks (true), or ends the process (false, as at the start).
  void ask_first(bool on);
  bool requested() const;
  /// Returns the exit code of a process that has nothing to report: 128 plus the signal's number. Precondition:
  /// requested().
  int exit_code() const;
  /// Sleeps until the deadline (CLOCK_MONOTONIC, ns) or until a stop is requested; returns whether it is.
  bool wait_until(unsigned long long deadline_ns) const;
};

}  // namespace granary::bench
