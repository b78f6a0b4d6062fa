#include "src/node/cluster_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <granary/limits.h>

namespace granary::db {

using cluster::messages::Describe;
using cluster::messages::DescribeAnswer;
using cluster::messages::QuestionOf;

void ClusterTables::place(txn::TableCore* core, Placement placement) {
  made_.push_back(core);
  if (!placement.home) return;
  core->place(std::make_shared<const txn::Placement>(txn::Placement{.self = own_, .home = std::move(placement.home)}));
}

Status ClusterTables::check_open(std::string_view what) const {
  if (!closed_) return {};
  return {StatusCode::kFailedPrecondition,
          fmt::format("{} of a cluster are made before it starts{}", what, left_ ? ", and this node has left it" : "")};
}

Result<Table> ClusterTables::create_table(std::string_view name, TableOptions options, Placement placement) {
  if (Status open = check_open("tables"); !open.ok()) return open;
  options.shared = static_cast<bool>(placement.home);
  auto table = database_.create_table(name, options);
  if (table.ok()) place(table->core(), std::move(placement));
  return table;
}

Result<Index> ClusterTables::create_index(const Table& table, std::string_view name, const IndexOptions& options,
                                          Placement placement) {
  if (Status open = check_open("indexes"); !open.ok()) return open;
  auto index = database_.create_index(table, name, options);
  if (index.ok()) place(index->core(), std::move(placement));
  return index;
}

Result<NodeNumber> ClusterTables::home_of(const Table& table, std::string_view key) const {
  const txn::TableCore* const core = table.core();
  if (std::find(made_.begin(), made_.end(), core) == made_.end()) {
    const std::string_view name = core == nullptr ? "" : table.name();
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the keys of table '{}' have no home: it was not made by Cluster::create_table", name));
  }
  return core->placement() == nullptr ? own_ : core->placement()->home(key);
}

/// Asks for the tables piece by piece. Nobody has more than kMaxTables, so a node that never says that it has told all
/// (I26) is not asked for ever.
Result<std::optional<DescribeAnswer>> ask_for_tables(NodeNumber node,
                                                     FunctionRef<Result<bool>(cluster::messages::Question&)> ask) {
  DescribeAnswer all{.more = true};
  while (all.more && all.tables.size() <= kMaxTables) {
    QuestionOf<Describe> question(node, {.from = all.tables.empty() ? 0 : all.tables.back().id + 1});
    const Result<bool> answered = ask(question);
    if (!answered.ok()) return answered.status();
    if (!*answered) return std::optional<DescribeAnswer>();
    DescribeAnswer& piece = question.answer();
    all.region_base = piece.region_base;
    all.protocol = std::move(piece.protocol);
    all.more = piece.more && !piece.tables.empty();
    std::ranges::move(piece.tables, std::back_inserter(all.tables));
  }
  return std::optional(std::move(all));
}

Status compare_tables(const DescribeAnswer& own, NodeNumber node, const DescribeAnswer& said) {
  if (said.protocol != own.protocol) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("Options::protocol is '{}' here, and '{}' at node {}; all nodes have the same one",
                              own.protocol, said.protocol, node));
  }
  std::map<std::uint32_t, const cluster::messages::TableDescription*> theirs;
  for (const auto& table : said.tables) theirs.emplace(table.id, &table);
  for (const auto& mine : own.tables) {
    const auto other = theirs.find(mine.id);
    if (other != theirs.end() && other->second->fingerprint == mine.fingerprint) continue;
    const std::string there =
        other == theirs.end() ? "has none there" : "has '" + other->second->name + "' there, or made it otherwise";
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("tables differ: table {} is '{}' here, and node {} {}; all nodes make the same tables in the "
                    "same order",
                    mine.id, mine.name, node, there));
  }
  if (said.tables.size() == own.tables.size()) return {};
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("tables differ: {} shared ones here, {} at node {}; all nodes make the same tables in the same order",
                  own.tables.size(), said.tables.size(), node));
}

}  // namespace granary::db
