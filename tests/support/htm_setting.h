#pragma once
// Sets which HTM a test program's databases have: none, or that of --htm, so that whole suites run again with commits
// in regions. One in five simulated regions aborts by chance, and its commit may take locks, so that both kinds mix.

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
