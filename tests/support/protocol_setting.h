#pragma once
// Sets the concurrency-control protocol of a test program's databases. It is the default one or, in programs that have
// every_protocol.cc among their sources, each guest of the registry (src/cc/protocols.h) in turn.

#include <string>
#include <vector>

#include <granary/options.h>

#include "tests/support/htm_setting.h"

namespace granary::tests {

/// A protocol that all tests of the program are run with.
struct TestedProtocol {
  std::string name;
  bool reaches_shared = true;
  bool commits_in_region = true;
  bool runs_in_region = false;
  bool locks_reads = false;
  bool reads_parts = true;  ///< whether parts of local records are read and written without the rest
  bool has_leases = true;   ///< whether records that are declared to be read at another node are leased
  /// Whether a transaction is serial after all that had committed before it began, also within an epoch.
  bool in_real_time = true;
};

inline TestedProtocol asked_protocol{Options().protocol};  // written between tests only
// The protocols to test. The list is written before main(), which leaves out those that cannot do what the program's
// arguments ask for, and repeats all tests for each of the others.
inline std::vector<TestedProtocol> protocols_in_turn{asked_protocol};

/// Set by optimistic_only.cc, before main().
inline bool optimistic_only = false;

/// Set by sharing_only.cc, before main().
inline bool sharing_only = false;

/// As long as an object of this class lives, databases have the default protocol if the asked one is not able to do
/// something. Tests of what not every protocol can do make one before the database.
class DefaultProtocolUnless {
 public:
  explicit DefaultProtocolUnless(bool able) : asked_(asked_protocol) {
    if (!able) asked_protocol = {Options().protocol};
  }
  ~DefaultProtocolUnless() { asked_protocol = asked_; }
  DefaultProtocolUnless(const DefaultProtocolUnless&) = delete;
  DefaultProtocolUnless& operator=(const DefaultProtocolUnless&) = delete;

 private:
  const TestedProtocol asked_;
};
/// For tests with shared tables that RemoteHolder, which knows no rts, uses beside the database.
class WithSharedTables : DefaultProtocolUnless {
 public:
  WithSharedTables() : DefaultProtocolUnless(asked_protocol.reaches_shared && asked_protocol.has_leases) {}
};
class WithGlobalTids : DefaultProtocolUnless {
 public:
  WithGlobalTids() : DefaultProtocolUnless(asked_protocol.in_real_time) {}
};
class WithLeases : DefaultProtocolUnless {
 public:
  WithLeases() : DefaultProtocolUnless(asked_protocol.has_leases) {}
};
/// For tests with leases that also step transactions past one another. That ends a simulated region sooner than it ends
/// an optimistic transaction.
class WithLeasesAlone : DefaultProtocolUnless {
 public:
  WithLeasesAlone() : DefaultProtocolUnless(asked_protocol.has_leases && !asked_protocol.runs_in_region) {}
};
class WithRegions : DefaultProtocolUnless {
 public:
  WithRegions() : DefaultProtocolUnless(asked_protocol.commits_in_region && !asked_protocol.runs_in_region) {}
};

/// Sets the asked protocol. If it needs HTM, the options get the simulated one, unless --htm=rtm was given.
inline void set_protocol(Options& options) {
  options.protocol = asked_protocol.name;
  if (asked_protocol.runs_in_region) options.htm = asked_htm == Htm::kRtm ? Htm::kRtm : Htm::kSim;
}

}  // namespace granary::tests
