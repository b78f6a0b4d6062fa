#pragma once
// Reads a node's report, as far as nodes' results are merged (json_report() wrote it).

#include <nlohmann/json.hpp>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// Returns the measurement of the report's median repeat. kDamaged says what is missing or of the wrong kind.
Result<Measurement> measurement_of(const nlohmann::ordered_json& report);

/// Returns the file's report. The error names the node by `label` if there is none.
Result<nlohmann::ordered_json> read_report(const std::string& path, const std::string& label);

}  // namespace granary::bench::cluster
