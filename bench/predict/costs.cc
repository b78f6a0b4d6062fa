#include "bench/predict/costs.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/text_file.h"
#include "bench/predict/report_number.h"

namespace granary::bench::predict {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the time of an operation in `figures`, the report's list of them.
double time_of(const Json& figures, const std::string& operation, unsigned bytes, const std::string& how) {
  for (const Json& figure : figures) {
    if (figure.at("operation") == operation && figure.at("bytes") == bytes && figure.at("how") == how)
      return amount(figure.at("nanoseconds"));
  }
  throw nlohmann::detail::out_of_range::create(403, fmt::format("no {} of {} bytes {}", operation, bytes, how),
                                               nullptr);
}

/// Returns an operation's part of a chain of 16. The chain's own part is what one operation alone takes longer.
double in_chain(double alone, double of_sixteen) { return std::max(0.0, (16 * of_sixteen - alone) / 15); }

Costs costs_of(const Json& report) {
  const Json& fabric = report.at("granary");
  const Json& figures = fabric.at("figures");
  const auto alone = [&](const char* operation, unsigned bytes) {
    return time_of(figures, operation, bytes, "one by one");
  };
  const auto each = [&](const char* operation, unsigned bytes) {
    return in_chain(alone(operation, bytes), time_of(figures, operation, bytes, "chains of 16"));
  };
  Costs costs{.by_processor = fabric.at("provider") == "shm"};
  costs.read = each("READ", 64);
  costs.write = each("WRITE", 64);
  costs.compare_swap = each("CAS", 8);
  costs.round_trip = std::max(0.0, alone("READ", 64) - costs.read);
  costs.message = time_of(figures, "ring", 0, "asleep, round trip");
  return costs;
}

}  // namespace

Result<Costs> costs_of_report(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text.ok()) return text.status();
  try {
    return costs_of(Json::parse(*text));
  } catch (const Json::exception& error) {
    return Status(StatusCode::kDamaged,
                  fmt::format("'{}' is no report of 'granary bench fabric --json': {}", path, fault_text(error)));
  }
}

}  // namespace granary::bench::predict
