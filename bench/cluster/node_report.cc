#include "bench/cluster/node_report.h"

#include <fmt/format.h>

#include <filesystem>

#include "bench/harness/cluster_figures_json.h"
#include "bench/harness/life_account_json.h"
#include "bench/harness/text_file.h"

namespace granary::bench::cluster {

namespace {

using Json = nlohmann::ordered_json;

/// Reads a histogram, whose latencies are in nanoseconds.
Histogram histogram_of(const Json& buckets) {
  Histogram histogram;
  for (const Json& bucket : buckets)
    histogram.record(bucket.at(0).get<std::uint64_t>(), bucket.at(1).get<std::uint64_t>());
  return histogram;
}

TypeResult type_of(const std::string& name, const Json& json) {
  TypeResult type{.name = name,
                  .committed = json.at("committed"),
                  .rolled_back = json.at("rolled_back"),
                  .gave_up = json.at("gave_up"),
                  .too_long = json.value("open_too_long", std::uint64_t{0}),  // older releases do not tell it
                  .latency = histogram_of(json.at("latency_buckets")),
                  .durable = histogram_of(json.at("released_latency_buckets"))};
  // Reports of older releases do not have these.
  type.transactions = json.value("transactions", type.finished());
  type.unreleased = json.value("unreleased", std::uint64_t{0});
  for (const auto& [reason, count] : json.at("aborts_by_reason").items()) {
    for (std::size_t i = 0; i < kAbortReasons; ++i) {
      if (granary::name(static_cast<AbortReason>(i)) == reason) type.aborts[i] = count;
    }
  }
  return type;
}

StoreFigures store_of(const Json& json, const std::string& page_kind) {
  StoreFigures store{.memory_bytes = json.at("memory_bytes"),
                     .records_bytes = json.at("records_bytes"),
                     .index_bytes = json.at("index_bytes"),
                     .version_bytes = json.at("version_bytes"),
                     .garbage_items = json.at("garbage_items"),
                     .epoch = json.at("epoch"),
                     .durable_epoch = json.at("durable_epoch"),
                     .log_bytes = json.at("log_bytes"),
                     .log_entries = json.at("log_entries"),
                     .log_syncs = json.at("log_syncs"),
                     .ring_waits = json.at("ring_waits"),
                     .checkpoints = json.at("checkpoints"),
                     .checkpoint_bytes = json.at("checkpoint_bytes"),
                     .checkpoint_seconds = json.at("checkpoint_seconds"),
                     .page_kind = page_kind,
                     .protocol = json.at("protocol")};
  const Json& htm = json.at("htm");
  store.htm.backend = htm.at("backend");
  store.htm.commits = htm.at("commits");
  store.htm.fallbacks = htm.at("fallbacks");
  store.htm.conflicts = htm.at("conflicts");
  store.htm.capacity = htm.at("capacity");
  store.htm.explicit_aborts = htm.at("explicit_aborts");
  store.htm.others = htm.at("others");
  return store;
}

Finding finding_of(const Json& json) {
  Finding finding{json.at("condition"), json.at("holds"), json.at("detail")};
  if (json.contains("tally")) finding.tally = Tally{json.at("tally").at("expected"), json.at("tally").at("found")};
  return finding;
}

Measurement measurement(const Json& report) {
  const Json& ours = report.at("granary");
  const Json& repeat = ours.at("repeats").at(ours.at("median_repeat").get<std::size_t>());
  const std::string page_kind = ours.at("machine").at("page_kind");
  Measurement run;
  run.elapsed_ns = repeat.at("elapsed_ns");
  run.load_seconds = repeat.at("load_seconds");
  run.interrupted = repeat.at("interrupted");
  run.pinned = repeat.at("workers_pinned");
  run.load_average_before = repeat.at("load_average_before");
  run.load_average_after = repeat.at("load_average_after");
  run.resident_bytes = repeat.at("memory").at("resident_bytes");
  run.loaded = store_of(repeat.at("memory").at("after_load"), page_kind);
  if (repeat.at("memory").contains("at_begin")) run.begun = store_of(repeat.at("memory").at("at_begin"), page_kind);
  run.store = store_of(repeat.at("memory").at("at_end"), page_kind);
  run.verified = repeat.at("verified");
  for (const auto& [name, type] : repeat.at("types").items()) run.types.push_back(type_of(name, type));
  const Json of = repeat.value("extra_of", Json::object());  // reports of older releases do not tell it
  for (const auto& [name, value] : repeat.at("extra").items()) {
    run.extra.push_back({name, value});
    if (of.contains(name)) run.extra.back().of = of.at(name);
  }
  if (!repeat.at("cluster").is_null()) run.cluster = cluster_figures_of(repeat.at("cluster"));
  for (const Json& finding : repeat.at("findings")) run.findings.push_back(finding_of(finding));
  if (repeat.contains("lost_life")) run.lost_life = life_of(repeat.at("lost_life"));
  return run;
}

}  // namespace

Result<Measurement> measurement_of(const Json& report) {
  try {
    return measurement(report);
  } catch (const Json::exception& error) {  // the library throws if something is missing
    return Status(StatusCode::kDamaged, fmt::format("a node's report cannot be read: {}", error.what()));
  }
}

Result<Json> read_report(const std::string& path, const std::string& label) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return Status(StatusCode::kDamaged, fmt::format("{} has left no report", label));
  const Result<std::string> text = read_text(path);
  if (!text.ok()) return Status(text.status().code(), fmt::format("{}: {}", label, text.status().message()));
  Json report = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!report.is_discarded()) return report;
  return Status(StatusCode::kDamaged, fmt::format("{} has left a report that is not whole, or is no JSON", label));
}

}  // namespace granary::bench::cluster
