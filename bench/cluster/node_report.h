#pragma once
// A node's report, read back: what json_report() wrote of its run, as far as nodes' results are merged.

#include <nlohmann/json.hpp>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// The measurement of the report's median repeat. kDamaged says what is missing or of the wrong kind.
Result<Measurement> measurement_of(const nlohmann::ordered_json& report);

/// The file's report; `label` names the node if there is none.
Result<nlohmann::ordered_json> read_report(const std::string& path, const std::string& label);

}  // namespace granary::bench::cluster
