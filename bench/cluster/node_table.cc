#include "bench/cluster/node_table.h"

#include <vector>

#include <fmt/format.h>

#include "bench/harness/progress.h"
#include "bench/harness/table.h"

namespace granary::bench::cluster {

namespace {

class NodeTable {
 public:
  NodeTable(std::span<const std::string> labels, std::span<const Measurement> nodes, const Measurement& all) {
    rows_.push_back({""});
    rows_.front().insert(rows_.front().end(), labels.begin(), labels.end());
    rows_.front().emplace_back("all");
    for (const Measurement& node : nodes) columns_.push_back(&node);
    columns_.push_back(&all);
  }

  std::string text() {
    add_requests();
    add_aborts();
    if (all().store.htm.backend != "off") add_htm();
    for (std::size_t i = 0; i < all().extra.size(); ++i) {
      add(all().extra[i].name, [i](const Measurement& run) { return number(run.extra[i].value); });
    }
    if (all().cluster) add_cluster();
    return aligned(rows_);
  }

 private:
  const Measurement& all() const { return *columns_.back(); }
  static std::string number(double value) { return fmt::format("{:.6g}", value); }

  template <typename Cell>
  void add(std::string name, Cell&& cell) {
    std::vector<std::string> row{std::move(name)};
    for (const Measurement* run : columns_) row.push_back(cell(*run));
    rows_.push_back(std::move(row));
  }

  void add_requests() {
    add("requests", [](const Measurement& run) { return with_commas(run.total().finished()); });
    add("/s", [](const Measurement& run) { return with_commas(static_cast<std::uint64_t>(run.throughput() + 0.5)); });
    for (const double percent : {50.0, 99.0}) {
      add(fmt::format("p{} us", percent),
          [percent](const Measurement& run) { return fmt::format("{:.1f}", run.percentile_us(run.total(), percent)); });
    }
  }

  void add_aborts() {
    add("aborts, % of attempts",
        [](const Measurement& run) { return fmt::format("{:.3f}", 100 * abort_share(run.total())); });
    const AbortCounts reasons = all().total().aborts;
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) {
      if (reasons[reason] == 0) continue;
      add(fmt::format("  {}", name(static_cast<AbortReason>(reason))),
          [reason](const Measurement& run) { return with_commas(run.total().aborts[reason]); });
    }
  }

  void add_htm() {
    const auto since_begin = [this](const char* what, std::uint64_t HtmStatistics::*count) {
      add(what,
          [count](const Measurement& run) { return with_commas(run.store.htm.*count - run.baseline().htm.*count); });
    };
    since_begin("htm commits", &HtmStatistics::commits);
    since_begin("htm gave way to locks", &HtmStatistics::fallbacks);
    since_begin("htm aborts, conflict", &HtmStatistics::conflicts);
    since_begin("htm aborts, capacity", &HtmStatistics::capacity);
    since_begin("htm aborts, explicit", &HtmStatistics::explicit_aborts);
    since_begin("htm aborts, other", &HtmStatistics::others);
  }

  void add_cluster() {
    const std::size_t count = ratios(*all().cluster).size();
    for (std::size_t i = 0; i < count; ++i) {
      add(ratios(*all().cluster)[i].name,
          [i](const Measurement& run) { return fmt::format("{:.4g}", ratios(*run.cluster)[i].value); });
    }
    add("clock", [](const Measurement& run) { return run.cluster->clock.source; });
    add("clock_synchronized", [](const Measurement& run) { return run.cluster->clock.synchronized ? "yes" : "no"; });
    add("clock_delta_us", [](const Measurement& run) { return std::to_string(run.cluster->clock.delta_us); });
  }

  std::vector<const Measurement*> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

std::string node_table(std::span<const std::string> labels, std::span<const Measurement> nodes,
                       const Measurement& all) {
  return NodeTable(labels, nodes, all).text();
}

}  // namespace granary::bench::cluster
