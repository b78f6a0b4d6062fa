#include "bench/predict/measured.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/text_file.h"
#include "bench/predict/report_number.h"

namespace granary::bench::predict {
namespace {

using Json = nlohmann::ordered_json;

Measured measured_of(const Json& report, const std::string& path) {
  const Json& ours = report.at("granary");
  const std::size_t median = ours.at("median_repeat");
  const Json& repeat = ours.at("repeats").at(median);
  const Json& cluster = repeat.at("cluster");
  const double transactions = std::max(1.0, amount(cluster.at("distributed")));
  const auto each = [&](const char* name) { return amount(cluster.at(name)) / transactions; };
  const Json& parameters = ours.at("parameters");
  return {.path = path,
          .benchmark = report.at("Benchmark Type"),
          .throughput = amount(repeat.at("throughput")),
          .distributed_share = std::min(1.0, amount(cluster.at("distributed_share"))),
          .each = {.round_trips = each("round_trips"),
                   .reads = each("reads"),
                   .writes = each("writes"),
                   .compare_swaps = each("compare_swaps"),
                   .messages = each("messages")},
          .nodes = static_cast<std::uint32_t>(ours.at("nodes").at(median).size()),
          .workers = count(parameters.at("workers")),
          .fibers = parameters.contains("fibers") ? count(parameters.at("fibers")) : 1,
          .cores = count(ours.at("machine").at("cpus"))};
}

}  // namespace

Result<Measured> read_measured(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text.ok()) return text.status();
  try {
    Measured measured = measured_of(Json::parse(*text), path);
    if (measured.throughput > 0 && measured.nodes > 0) return measured;
    return Status(StatusCode::kDamaged, fmt::format("'{}': nothing was measured", path));
  } catch (const Json::exception& error) {
    return Status(StatusCode::kDamaged,
                  fmt::format("'{}' is no report of 'granary cluster run --json': {}", path, fault_text(error)));
  }
}

}  // namespace granary::bench::predict
