#pragma once
// Notes how a transaction runs under the protocol `drtm`: in an HTM region, or with locks.

#include <cstdint>
#include <vector>

#include <granary/outcome.h>

#include "src/record/record.h"

namespace granary::cc::drtm {

using record::Record;

struct RegionRun {
  enum class Way : std::uint8_t {
    kUnknown,  ///< it has touched no record of this node yet
    kRegion,   ///< it runs in the worker's open region
    kLocks,    ///< it runs without a region
    kAgain,    ///< its region has aborted, and the application has to run the transaction again
  };
  Way way = Way::kUnknown;
  AbortReason reason = AbortReason::kReadChanged;  ///< kAgain: the reason that the application is given
  std::vector<Record*> declared;                   ///< the records of this node that the transaction has declared
  std::vector<Record*> claimed;                    ///< those of `declared` whose lock bit it holds, by address
  std::uint64_t fiber = 0;                         ///< the number of that in which it has claimed them; 0: in none
};

}  // namespace granary::cc::drtm
