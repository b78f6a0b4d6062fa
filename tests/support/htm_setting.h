#pragma once
// Which HTM a test program's databases have: off, or what main() was told by --htm, so that whole suites run again with
// commits in regions. Of simulated regions every fifth aborts by chance, and the commit may take locks: both kinds mix.

#include <granary/options.h>

namespace granary::tests {

inline Htm asked_htm = Htm::kOff;  // written by main() only

/// Whether this machine runs Intel TSX. Set by where_rtm_works.cc, before main().
inline bool (*rtm_works)() = nullptr;

inline void set_htm(Options& options) {
  options.htm = asked_htm;
  options.htm_simulation.spurious_per_thousand = 200;
}

}  // namespace granary::tests
