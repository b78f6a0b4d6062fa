#pragma once
// Reads the reports of nodes that were started one by one, perhaps on other machines than this one, which merges them.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <granary/status.h>

namespace granary::bench::cluster {

struct Apart {
  nlohmann::ordered_json parameters;  ///< the flags, common to all
  std::string version;                ///< common to all
  nlohmann::ordered_json machines = nlohmann::ordered_json::object(),
                         builds = nlohmann::ordered_json::object();  ///< of each node, by its label
  bool keep_accounts =
      false;  ///< whether a node was started with --account, so that it could be killed and started again
};

/// Reads the reports of these nodes, in their order. It is an error if they are not the reports of these nodes, one
/// each, or if they are of runs that differ.
Result<Apart> read_apart(const std::string& benchmark, const std::vector<std::uint16_t>& nodes,
                         const std::vector<std::string>& labels, const std::vector<std::string>& reports);

/// Returns an error (wrong usage) if the result (--json; may be empty) would be written over one of the reports.
Status check_result_apart(const std::string& result, const std::vector<std::string>& reports);

/// Puts the nodes' values into a result's JSON, in the place of this process's own.
void put_into(nlohmann::ordered_json& json, const Apart& apart);

}  // namespace granary::bench::cluster
