#pragma once
// Numbers of a report that a prediction reads. A file may hold anything; what cannot be is refused as the JSON library
// refuses a value of a wrong type, by an exception, so that one place tells which file it was.

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace granary::bench::predict {

/// Returns a time or a count, which is never negative.
inline double amount(const nlohmann::ordered_json& value) {
  const auto number = value.get<double>();
  if (number >= 0) return number;
  throw nlohmann::detail::out_of_range::create(401, fmt::format("{} where 0 or more is expected", number), &value);
}

/// Returns how many there are of something of which there is one at least.
inline std::uint32_t count(const nlohmann::ordered_json& value) {
  constexpr double kMost = 1'000'000;
  const double number = amount(value);
  if (number >= 1 && number <= kMost) return static_cast<std::uint32_t>(number);
  throw nlohmann::detail::out_of_range::create(401, fmt::format("{} where 1 to {} is expected", number, kMost), &value);
}

}  // namespace granary::bench::predict
