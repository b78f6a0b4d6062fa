#pragma once
// Which HTM a test program's databases have: off, or what main() was told by --htm=sim, so that whole suites run again with
// commits in regions. Every fifth region aborts by chance then, and the commit may take locks: both kinds mix.

#include <granary/options.h>

namespace granary::tests {

inline Htm asked_htm = Htm::kOff;  // written by main() only

inline void set_htm(Options& options) {
  options.htm = asked_htm;
  options.htm_simulation.spurious_per_thousand = 200;
}

}  // namespace granary::tests
