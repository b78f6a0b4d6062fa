#pragma once
// What the `granary` command tells its caller.

namespace granary::bench {

enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  ///< a consistency check or a verdict failed
  kUsage = 2,        ///< unknown words and flags, impossible values, more than memory holds
  /// The machine lacks something, e.g. room for a log, or a file cannot be written, or there is no database.
  kEnvironment = 3,
  kDamagedData = 4,     ///< stored data does not read back
  kDiskFault = 5,       ///< a read, write or sync failed, or the disk became full; kEnvironment: that was seen before
  kMembershipLost = 6,  ///< the node is no longer a member of its cluster
  // 128 and a signal's number: it has ended a run that had nothing to report (StopSignals::exit_code()).
};

}  // namespace granary::bench
