#pragma once
// Reads the numbers of a report for a prediction. A file may hold anything. An impossible number is refused like a
// value of a wrong type, by an exception of the JSON library, so that one place tells which file it was.

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace granary::bench::predict {

/// Returns what a report lacks, without the name that the JSON library gives to its exception.
inline std::string fault_text(const nlohmann::json::exception& error) {
  if (dynamic_cast<const nlohmann::json::parse_error*>(&error) != nullptr) return "it is no JSON, or not whole";
  if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) == nullptr)
    return "a part of it is not of the kind that is expected there";
  const std::string_view text = error.what();
  const std::size_t end = text.find("] ");
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

/// Returns a time or a count, which is never negative.
inline double amount(const nlohmann::ordered_json& value) {
  const auto number = value.get<double>();
  if (number >= 0) return number;
  throw nlohmann::detail::out_of_range::create(401, fmt::format("{} where 0 or more is expected", number), &value);
}

/// Returns a count of which there is one at least.
inline std::uint32_t count(const nlohmann::ordered_json& value) {
  constexpr double kMost = 1'000'000;
  const double number = amount(value);
  if (number >= 1 && number <= kMost) return static_cast<std::uint32_t>(number);
  throw nlohmann::detail::out_of_range::create(401, fmt::format("{} where 1 to {} is expected", number, kMost), &value);
}

}  // namespace granary::bench::predict
