#pragma once
// A node's report, read back: what json_report() wrote of its run, as far as nodes' results are merged.

#include <nlohmann/json.hpp>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// The measurement of the report's median repeat. kDamaged says what is missing or of the wrong kind.
Result<Measurement> measurement_of(const nlohmann::ordered_json& report);

}  // namespace granary::bench::cluster
