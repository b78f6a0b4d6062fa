#include "bench/predict/measured.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/text_file.h"
#include "bench/predict/report_number.h"

namespace granary::bench::predict {
namespace {

using Json = nlohmann::ordered_json;

/// The numbers of transactions and attempts per request in a run.
struct Ratios {
  double transactions_per_request = 1;
  double attempts_per_transaction = 1;
};

/// Returns the ratios. A cluster counts attempts, and clients count requests, transactions and attempts that failed.
/// Reports of older releases do not tell the number of transactions: then each request was one.
Ratios ratios_of(const Json& repeat) {
  if (!repeat.contains("total") || !repeat.at("total").contains("transactions")) return {};
  const Json& total = repeat.at("total");
  const double requests = amount(total.at("committed")) + amount(total.at("rolled_back"));
  const double ended = amount(total.at("transactions")), attempts = ended + amount(total.at("aborts"));
  if (requests == 0 || ended == 0) return {};
  const double succeeding = ended / attempts;
  return {.transactions_per_request = amount(repeat.at("cluster").at("attempts")) * succeeding / requests,
          .attempts_per_transaction = 1 / succeeding};
}

Measured measured_of(const Json& report, const std::string& path) {
  const Json& ours = report.at("granary");
  const std::size_t median = ours.at("median_repeat");
  const Json& repeat = ours.at("repeats").at(median);
  const Json& cluster = repeat.at("cluster");
  const Ratios ratios = ratios_of(repeat);
  const double attempts = std::max(1.0, amount(cluster.at("distributed")));
  const auto each = [&](const char* name) {
    return amount(cluster.at(name)) / attempts * ratios.attempts_per_transaction;
  };
  const Json& parameters = ours.at("parameters");
  return {.path = path,
          .benchmark = report.at("Benchmark Type"),
          .throughput = amount(repeat.at("throughput")),
          .distributed_share = std::min(1.0, amount(cluster.at("distributed_share"))),
          .transactions_per_request = ratios.transactions_per_request,
          .each = {.round_trips = each("round_trips"),
                   .write_backs = cluster.contains("write_back_rounds") ? each("write_back_rounds") : 0,
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
