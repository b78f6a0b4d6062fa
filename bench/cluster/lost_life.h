#pragma once
// Accounts for what the clients of a killed process had done, without which the others' findings do not hold.

#include <span>

#include "bench/harness/result.h"
#include "bench/harness/time_line.h"

namespace granary::bench::cluster {

/// Adds the account of the killed life to what the node's next life expects. Each of the killed clients had one request
/// open, of which nobody was told whether it was committed. The open requests that count as committed are those with
/// which most of the sums of all nodes agree. Findings that are no sums stay as they are.
void add_lost_life(const LifeAccount& lost, std::span<Measurement> nodes, std::size_t victim);

}  // namespace granary::bench::cluster
