#pragma once
// The exit codes of the `granary` command.

namespace granary::bench {

enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  ///< a consistency check or a verdict failed
  kUsage = 2,        ///< unknown words and flags, impossible values, more than memory holds
  /// The machine lacks something, such as room for a log, or a file cannot be written, or there is no database.
  kEnvironment = 3,
  kDamagedData = 4,     ///< stored data does not read back
  kDiskFault = 5,       ///< a read, write or sync failed, or the disk became full; kEnvironment if that was foreseen
  kMembershipLost = 6,  ///< the node is no longer a member of its cluster
  // A run that had nothing to report when a signal ended it has 128 plus the signal's number
  // (StopSignals::exit_code()).
};

}  // namespace granary::bench
