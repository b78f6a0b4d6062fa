#include "bench/harness/cluster_figures_json.h"

#include "bench/harness/workload.h"

namespace granary::bench {

using Json = nlohmann::ordered_json;

Json cluster_json(const ClusterFigures& figures) {
  Json json = Json::object();
  json["start"] = figures.start;
  json["attempts"] = figures.attempts;
  for (const NamedCount& each : cluster_counts()) json[each.name] = figures.elsewhere.*each.count;
  for (const ExtraFigure& ratio : ratios(figures)) json[ratio.name] = ratio.value;
  json["clock"] = {{"source", figures.clock.source},
                   {"state", figures.clock.state},
                   {"synchronized", figures.clock.synchronized},
                   {"delta_us", figures.clock.delta_us},
                   {"jumps", figures.clock.jumps}};
  return json;
}

ClusterFigures cluster_figures_of(const Json& json) {
  ClusterFigures figures{.start = json.at("start"), .attempts = json.at("attempts"), .elsewhere = {}, .clock = {}};
  for (const NamedCount& each : cluster_counts()) figures.elsewhere.*each.count = json.at(each.name);
  const Json& clock = json.at("clock");
  figures.clock = {.source = clock.at("source"),
                   .state = clock.at("state"),
                   .synchronized = clock.at("synchronized"),
                   .delta_us = clock.at("delta_us"),
                   .jumps = clock.at("jumps")};
  return figures;
}

}  // namespace granary::bench
