#pragma once
// Writes what the clients of a killed process had done as JSON, for the report of the process that took its place, and
// reads it.

#include <memory>

#include <nlohmann/json.hpp>

#include "bench/harness/time_line.h"

namespace granary::bench {

/// Returns {"loaded": [...], "workers": [{"changed": [...], "open": [...]}]}.
nlohmann::ordered_json life_json(const LifeAccount& life);

/// Reads the account. Throws the library's exceptions if something is missing. Leaves out what an account has no room
/// for.
std::shared_ptr<const LifeAccount> life_of(const nlohmann::ordered_json& json);

}  // namespace granary::bench
