#pragma once
// What the clients of a killed process had done, as JSON, for the report of the process that took its place; and back.

#include <memory>

#include <nlohmann/json.hpp>

#include "bench/harness/time_line.h"

namespace granary::bench {

/// {"loaded": [...], "workers": [{"changed": [...], "open": [...]}]}
nlohmann::ordered_json life_json(const LifeAccount& life);

/// Throws what the library does if something is missing. More than an account has room for is left out.
std::shared_ptr<const LifeAccount> life_of(const nlohmann::ordered_json& json);

}  // namespace granary::bench
