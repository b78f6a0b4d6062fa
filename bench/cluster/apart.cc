#include "bench/cluster/apart.h"

#include <filesystem>

#include <fmt/format.h>

#include "bench/cluster/node_report.h"

namespace granary::bench::cluster {

namespace {

using Json = nlohmann::ordered_json;

Status wrong_reports(const std::string& why) { return {StatusCode::kInvalidArgument, "--reports: " + why}; }

/// Returns a node's report. It is an error if the report is of another benchmark or node.
Result<Json> report_of(const std::string& benchmark, const std::string& path, std::uint16_t node) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return Status(StatusCode::kUnavailable, fmt::format("--reports: there is no file '{}'", path));
  Result<Json> report = read_report(path, fmt::format("--reports: '{}': node {}", path, node));
  if (!report.ok()) return report;
  const auto says = [&](const char* at, const Json& value) {
    const Json::json_pointer place(at);
    return report->contains(place) && report->at(place) == value;
  };
  const auto has = [&](const char* at) { return report->contains(Json::json_pointer(at)); };
  if (says("/Benchmark Type", benchmark) && says("/granary/parameters/node", node) && has("/granary/machine") &&
      has("/granary/build") && has("/DBMS Version") && report->at("DBMS Version").is_string())
    return report;
  return wrong_reports(fmt::format("'{}' is no report of {} by node {}", path, benchmark, node));
}

/// Returns the flags of a node without those that are its own.
Json flags_in(const Json& report) {
  Json flags = report.at("granary").at("parameters");
  for (const char* own : {"node", "cluster", "json", "progress", "start_timeout", "account"}) flags.erase(own);
  return flags;
}

bool keeps_account(const Json& report) {
  const Json& flags = report.at("granary").at("parameters");
  const auto account = flags.find("account");
  return account != flags.end() && account->is_string() && *account != "";
}

/// Returns the name of a flag that differs between the two, or that only one has; empty if there is none.
std::string difference(const Json& one, const Json& other) {
  for (const auto& [side, opposite] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    for (const auto& [name, value] : side->items()) {
      if (!opposite->contains(name) || opposite->at(name) != value) return name;
    }
  }
  return {};
}

}  // namespace

Result<Apart> read_apart(const std::string& benchmark, const std::vector<std::uint16_t>& nodes,
                         const std::vector<std::string>& labels, const std::vector<std::string>& reports) {
  if (reports.size() != nodes.size())
    return wrong_reports(fmt::format("{} files for {} nodes; name one for each", reports.size(), nodes.size()));
  Apart all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Result<Json> report = report_of(benchmark, reports[i], nodes[i]);
    if (!report.ok()) return report.status();
    Json flags = flags_in(*report);
    all.keep_accounts |= keeps_account(*report);
    const std::string version = report->at("DBMS Version");
    if (i == 0) {
      all.parameters = std::move(flags);
      all.version = version;
    } else if (const std::string name = difference(all.parameters, flags); !name.empty()) {
      return wrong_reports(fmt::format("nodes {} and {} ran with different --{}; all nodes take the same flags",
                                       nodes[0], nodes[i], name));
    } else if (all.version != version) {
      return wrong_reports(
          fmt::format("nodes {} and {} are of versions {} and {}", nodes[0], nodes[i], all.version, version));
    }
    all.machines[labels[i]] = report->at("granary").at("machine");
    all.builds[labels[i]] = report->at("granary").at("build");
  }
  return all;
}

Status check_result_apart(const std::string& result, const std::vector<std::string>& reports) {
  for (const std::string& report : reports) {
    std::error_code missing;  // a missing file is not the same file
    if (result.empty() || !std::filesystem::equivalent(result, report, missing)) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("--json={} is one of --reports, and would be overwritten; name another file", result)};
  }
  return {};
}

void put_into(Json& json, const Apart& apart) {
  json["DBMS Version"] = apart.version;
  Json& ours = json["granary"];
  ours["parameters"] = apart.parameters;
  ours.erase("machine");
  ours["machines"] = apart.machines;
  ours.erase("build");
  ours["builds"] = apart.builds;
}

}  // namespace granary::bench::cluster
