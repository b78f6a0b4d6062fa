#pragma once
// What nodes say of themselves that were started one by one, perhaps on other machines than the one that merges their
// reports.

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
  bool keep_accounts = false;  ///< a node was started with --account, so that it could be killed and started again
};

/// From the reports of these nodes, in their order. An error: they are not these nodes', each once, or of runs that
/// differ.
Result<Apart> read_apart(const std::string& benchmark, const std::vector<std::uint16_t>& nodes,
                         const std::vector<std::string>& labels, const std::vector<std::string>& reports);

/// Wrong usage: the result (--json; may be empty) would be written over one of the reports.
Status check_result_apart(const std::string& result, const std::vector<std::string>& reports);

/// Into a result's JSON, in the place of what is this process's own.
void put_into(nlohmann::ordered_json& json, const Apart& apart);

}  // namespace granary::bench::cluster
