#include "bench/append/join.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "bench/append/conclusion.h"
#include "bench/append/node_lives.h"
#include "bench/harness/cluster_figures_json.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/print.h"

namespace granary::bench::append {

using history::History;
using Json = nlohmann::ordered_json;

namespace {

/// Reads the events of all nodes as one history. A node that has died may have left no file.
Result<History> join_files(const NodesLeft& left) {
  History all;
  for (const std::string& file : left.files) {
    std::vector<std::string> parts = NodeLives::histories(file);
    if (left.whole && parts.empty()) parts.push_back(file);  // a missing file, which read_history() reports
    for (const std::string& life : parts) {
      Result<History> part = read_history(life);
      if (!part.ok()) return part;
      all.insert(all.end(), std::make_move_iterator(part->begin()), std::make_move_iterator(part->end()));
    }
  }
  history::sort_by_time(all);
  return all;
}

/// Adds up what the transactions of all nodes did at other nodes; none unless every node has told it.
Result<std::optional<ClusterFigures>> add_figures(const NodesLeft& left) {
  std::optional<ClusterFigures> all;
  for (const std::string& file : left.files) {
    std::ifstream in(figures_of(file));
    if (!in && !left.whole) return std::optional<ClusterFigures>();
    try {
      const ClusterFigures part = cluster_figures_of(Json::parse(in));
      if (all.has_value()) {
        all->add(part);
      } else {
        all = part;
      }
    } catch (const nlohmann::json::exception& error) {  // the library throws this if something is missing
      return Status(StatusCode::kDamaged, figures_of(file) + ": " + error.what());
    }
  }
  return all;
}

}  // namespace

std::string figures_of(const std::string& file) { return file + ".figures"; }

ExitCode join(const FlagValues& flags, const NodesLeft& left) {
  Result<History> all = join_files(left);
  if (!all.ok()) return fail(exit_code_of(all.status()), all.status().message());
  if (all->empty() && !left.whole)
    return ExitCode::kOk;  // the nodes ended before any transaction began, and have said why
  const auto elsewhere = add_figures(left);
  if (!elsewhere.ok()) return fail(exit_code_of(elsewhere.status()), elsewhere.status().message());
  Json more{{"whole", left.whole}};
  if (flags.integer("kills") != 0) {
    more["kills"] = left.returns;
    base::print("{} times a node was killed and came back\n", left.returns);
  }
  if (elsewhere->has_value()) more["cluster"] = cluster_json(**elsewhere);
  const ExitCode code = conclude(runs_of(std::move(*all)), flags, std::move(more));
  if (elsewhere->has_value()) base::print("{}", cluster_text(**elsewhere));
  return code;
}

}  // namespace granary::bench::append
