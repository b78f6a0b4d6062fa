#pragma once
// The concurrency-control protocol of a test program's databases: the default one, or, in programs that have
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
  bool has_leases = true;    ///< what is declared to be read at another node is leased
  bool in_real_time = true;  ///< within an epoch, too: who begins when another has committed is serial behind it
};

inline TestedProtocol asked_protocol{Options().protocol};  // written between tests only
// Written before main(), which leaves out what cannot do what the program's arguments ask for, and repeats all tests
// for each.
inline std::vector<TestedProtocol> protocols_in_turn{asked_protocol};

/// Set by optimistic_only.cc, before main().
inline bool optimistic_only = false;

/// Set by sharing_only.cc, before main().
inline bool sharing_only = false;

/// While one lives, databases have the default protocol if the asked one cannot do something: for tests of what not
/// every protocol can. Made before the database.
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
/// With shared tables that RemoteHolder, who knows no rts, uses beside the database.
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
/// Also of what steps transactions past one another, which ends a simulated region sooner than it ends an optimistic
/// transaction.
class WithLeasesAlone : DefaultProtocolUnless {
 public:
  WithLeasesAlone() : DefaultProtocolUnless(asked_protocol.has_leases && !asked_protocol.runs_in_region) {}
};
class WithRegions : DefaultProtocolUnless {
 public:
  WithRegions() : DefaultProtocolUnless(asked_protocol.commits_in_region && !asked_protocol.runs_in_region) {}
};

/// A protocol that needs HTM gets the simulated one, unless main() was told another.
inline void set_protocol(Options& options) {
  options.protocol = asked_protocol.name;
  if (asked_protocol.runs_in_region) options.htm = asked_htm == Htm::kRtm ? Htm::kRtm : Htm::kSim;
}

}  // namespace granary::tests
