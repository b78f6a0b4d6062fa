#pragma once
// Ctrl-C (SIGINT), SIGTERM, and SIGHUP, which is a terminal that goes away: the first one asks a measurement to stop
// early and report what it has, or a node to leave; a second one ends the process at once, unless it is the same one
// again within half a second. Before the first measurement there is nothing to report: then the first one ends the
// process as well. A process that was started to ignore SIGHUP (nohup) goes on ignoring it.

namespace granary::bench {

/// Installs the handlers for its lifetime; one at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// From here on a first signal only asks (true), or ends the process (false, as at the start).
  void ask_first(bool on);
  bool requested() const;
  /// Returns the exit code of a process that has nothing to report: 128 and the signal. Precondition: requested().
  int exit_code() const;
  /// Sleeps until the deadline (CLOCK_MONOTONIC, ns) or until a stop is requested; true if it is.
  bool wait_until(unsigned long long deadline_ns) const;
};

}  // namespace granary::bench
