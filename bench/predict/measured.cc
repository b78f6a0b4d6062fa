#include "bench/predict/measured.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/text_file.h"

namespace granary::bench::predict {
namespace {

using Json = nlohmann::ordered_json;

Measured measured_of(const Json& report, const std::string& path) {
  const Json& ours = report.at("granary");
  const std::size_t median = ours.at("median_repeat");
  const Json& repeat = ours.at("repeats").at(median);
  const Json& cluster = repeat.at("cluster");
  const double transactions = std::max(1.0, cluster.at("distributed").get<double>());
  const auto each = [&](const char* name) { return cluster.at(name).get<double>() / transactions; };
  const Json& parameters = ours.at("parameters");
  return {.path = path,
          .benchmark = report.at("Benchmark Type"),
          .throughput = repeat.at("throughput"),
          .distributed_share = cluster.at("distributed_share"),
          .each = {.round_trips = each("round_trips"),
                   .reads = each("reads"),
                   .writes = each("writes"),
                   .compare_swaps = each("compare_swaps"),
                   .messages = each("messages")},
          .nodes = static_cast<std::uint32_t>(ours.at("nodes").at(median).size()),
          .workers = parameters.at("workers"),
          .fibers = parameters.value("fibers", 1u),
          .cores = ours.at("machine").at("cpus")};
}

}  // namespace

Result<Measured> read_measured(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text.ok()) return text.status();
  try {
    Measured measured = measured_of(Json::parse(*text), path);
    if (measured.throughput > 0 && measured.nodes > 0 && measured.workers > 0) return measured;
    return Status(StatusCode::kDamaged, fmt::format("'{}': nothing was measured", path));
  } catch (const Json::exception& error) {
    return Status(StatusCode::kDamaged,
                  fmt::format("'{}' is no report of 'granary cluster run --json': {}", path, error.what()));
  }
}

}  // namespace granary::bench::predict
