#pragma once
// The concurrency-control protocol of a test program's databases: the default one, or, in programs that have every_protocol.cc among
// their sources, each guest of the registry (src/cc/protocols.h) in turn.

#include <cstddef>
#include <string>

#include <granary/options.h>

namespace granary::tests {

inline std::string asked_protocol = Options().protocol;  // written between tests only
inline std::size_t protocols_in_turn = 1;                // written before main(), which repeats all tests so often

inline void set_protocol(Options& options) { options.protocol = asked_protocol; }

}  // namespace granary::tests
