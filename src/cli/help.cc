#include "src/cli/help.h"

#include <algorithm>

#include <fmt/format.h>

#include "cluster_config/keys.h"
#include "src/cli/cluster_run.h"
#include "src/cli/commands.h"
#include "src/cli/figure_command.h"
#include "src/db/table_options.h"
#include "src/node/cluster_options.h"

namespace granary::cli {

namespace {

constexpr std::size_t kColumns = 100;

/// Breaks text into lines of at most kColumns, each starting with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result, line(indent, ' ');
  bool empty = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      result += line;
      result.push_back('\n');
      line.assign(indent, ' ');
      empty = true;
    }
    if (!empty) line.push_back(' ');
    line += word;
    empty = false;
  }
  result += line;
  result.push_back('\n');
  return result;
}

std::string flag_head(const bench::Flag& flag) {
  using bench::FlagKind;
  const std::string initial = flag.initial.empty() ? "none" : flag.initial;
  const std::string allowed = bench::allowed_with_unit(flag);
  switch (flag.kind) {
    case FlagKind::kSwitch: return fmt::format("--{}, --no{}   default {}", flag.name, flag.name, initial);
    case FlagKind::kText: return fmt::format("--{}={}   default {}", flag.name, flag.unit, initial);
    case FlagKind::kChoice: return fmt::format("--{}=WORD   {}; default {}", flag.name, allowed, initial);
    case FlagKind::kBytes: return fmt::format("--{}=SIZE   {}; default {}", flag.name, allowed, initial);
    case FlagKind::kInteger:
    case FlagKind::kReal: break;
  }
  return fmt::format("--{}=N   {}; default {}", flag.name, allowed, initial);
}

std::string flag_list(const std::vector<bench::Flag>& flags) {
  std::string text;
  for (const bench::Flag& flag : flags) {
    text += wrapped(flag_head(flag), 2);
    text += wrapped(flag.help, 6);
  }
  return text;
}

/// Returns a list of the struct's options with their meanings.
template <typename Struct>
std::string option_list(std::string_view heading) {
  std::string text = fmt::format("\n{}:\n", heading);
  option::for_each<Struct>([&](const auto& row) {
    text += wrapped(fmt::format("{}   {}; {}{}", row.name, option::allowed_with_unit(row),
                                row.unset.empty() ? "default " : "", option::initially(row)),
                    2);
    text += wrapped(row.help, 6);
  });
  return text;
}

}  // namespace

std::string general_help() {
  std::string text =
      "granary: an in-memory transaction system, what to measure it with, and what looks after its files\n\n"
      "  granary help                     this text\n"
      "  granary help bench               the benchmarks there are\n"
      "  granary help protocols           concurrency control: what each protocol promises, and when to take it\n"
      "  granary help options             all options of databases, tables and nodes; keys of the cluster file\n"
      "  granary bench NAME [flags]       runs one\n"
      "  granary bench NAME --help        its flags, with units, ranges, defaults and examples\n";
  for (const Tool* tool : tools())
    text += fmt::format("  {:<31}  {}\n", fmt::format("granary {} {}", tool->words(), tool->operand), tool->summary);
  for (const ClusterBench& each : cluster_benches())
    text += fmt::format("  {:<31}  {}\n", fmt::format("granary cluster {} NAME", each.name), each.summary);
  for (const FigureUse& each : figure_uses())
    text += fmt::format("  {:<31}  {}\n", "granary " + each.words, each.summary);
  return text +
         "  granary help log                 what log stat, dump and verify do; 'granary log stat --help' has the "
         "flags\n"
         "  granary --version                version, commit and kind of build\n\n"
         "Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 3 the machine or a file does not play along, or there is "
         "no\n"
         "database, 4 damaged data, 5 disk fault or disk full, 6 no longer a member of the cluster. Ctrl-C ends a\n"
         "measurement early and prints what was measured; a second one, half a second later or\n"
         "more, ends at once.\n";
}

std::string options_help() {
  using namespace cluster_config;
  return "Values, default and meaning of each. The headers granary/options.h, table.h and cluster.h, and\n"
         "docs/cluster-file.md, say more.\n" +
         option_list<Options>("Options of a database (granary::Options)") +
         option_list<HtmSimulation>("Of its htm_simulation") +
         option_list<TableOptions>("Options of a table (granary::TableOptions)") +
         option_list<ClusterOptions>("Options of a node of a cluster (granary::ClusterOptions)") +
         option_list<ClusterConfig>("Keys of the cluster file, [cluster]") +
         option_list<MembershipConfig>("[membership]") + option_list<ClockConfig>("[clock]") +
         option_list<NodeConfig>("[[node]], and [defaults] of all nodes");
}

std::string protocols_help() {
  return "Concurrency control of a database: Options::protocol, --protocol=NAME of a benchmark.\n\n"
         "  silo     (default) strictly serializable. A transaction commits if what it has read is still the latest.\n"
         "           Take it unless you know better; across nodes (where it is called occ); with HTM.\n"
         "  tictoc   serializable; strictly so for results that are shown when they are released. A transaction may "
         "commit\n"
         "           before others that have overwritten what it has read.\n"
         "           Take it where many transactions read what others write, also across nodes, where it needs no "
         "clock.\n"
         "           It can commit with HTM, as silo can.\n"
         "  drtm     strictly serializable. All work of a transaction at its node runs in one HTM region, on the "
         "records "
         "in\n"
         "           place; what it declares at other nodes is locked or leased before. Needs HTM: Intel TSX, or the "
         "simulation\n"
         "           of builds with test hooks. Take it to compare with, or where TSX works and transactions are "
         "small.\n"
         "  no_wait  two-phase locking, strictly serializable: who meets a lock aborts. To compare with; at most 38 "
         "workers,\n"
         "           not for clusters, shared tables and HTM.\n"
         "  dl_detect the same, but who meets a lock waits, unless its holders wait for him.\n\n"
         "All nodes of a cluster have the same one. With silo, --protocol=NAME also says how records of other nodes "
         "are "
         "used:\n\n"
         "  occ        (default) validated at the end, locked only to be written.\n"
         "  lease_2pl  locked or leased before the transaction goes on, as far as it knows them before.\n"
         "  two_pc_tcp two-phase commit over TCP, a baseline of the benchmarks.\n\n"
         "Other engines to compare with are variants of 'granary bench ycsb', with rows of their own over the same "
         "index;\nhekaton runs TPC-C's new-orders and payments, too:\n\n"
         "  --variant=hekaton  several versions of a row; read at the time of the beginning, checked at that of the "
         "end.\n"
         "  --variant=dta      dynamic timestamp allocation: each transaction has an interval of timestamps, which "
         "others\n"
         "                     shrink; who has none left aborts. One is certified at a time. --protocol=tictoc\n"
         "                     --variant=dta-bound is a bound for all protocols of that kind, not a protocol.\n\n"
         "docs/protocols.md has each protocol's steps and the files that take them.\n";
}

std::string tool_group_help(const std::vector<const Tool*>& tools) {
  std::string text =
      fmt::format("granary {} COMMAND {} [flags]{}\n\n", tools.front()->group, tools.front()->operand,
                  tools.front()->operand == "DIR" ? "; DIR is a database's directory, not open elsewhere" : "");
  for (const Tool* tool : tools) text += fmt::format("  {:<8} {}\n", tool->name, tool->summary);
  return text +
         fmt::format("\n'granary {} {} --help' lists the flags of one.\n", tools.front()->group, tools.front()->name);
}

std::string cluster_help() {
  std::string text = "granary cluster COMMAND ... [flags]\n\n";
  for (const Tool* tool : tools_of("cluster"))
    text += fmt::format("  {:<10}  {}\n", fmt::format("{} {}", tool->name, tool->operand), tool->summary);
  for (const ClusterBench& each : cluster_benches())
    text += fmt::format("  {:<10}  {}\n", fmt::format("{} NAME", each.name), each.summary);
  return text + "\n'granary cluster run --help' tells more of one.\n";
}

std::string tool_help(const Tool& tool) {
  std::string text = fmt::format("granary {}{}{} [flags]: {}\n\n{}", tool.words(), tool.operand.empty() ? "" : " ",
                                 tool.operand, tool.summary, wrapped(tool.description, 0));
  if (!tool.flags.empty()) text += fmt::format("\nFlags:\n{}", flag_list(tool.flags));
  text += "\nExamples:\n";
  for (const std::string& example : tool.examples) text += fmt::format("  granary {} {}\n", tool.words(), example);
  return text;
}

std::string bench_help() {
  std::string text = "granary bench NAME [flags]\n\n";
  for (const bench::BenchCommand* command : bench_commands())
    text += fmt::format("  {:<9} {}\n", command->name, command->summary);
  return text +
         "\nEach loads its data, warms up, measures --seconds of wall-clock time --repeat times and reports the "
         "median.\n"
         "'granary bench NAME --help' lists the flags of one.\n";
}

std::string command_help(const bench::BenchCommand& command) {
  std::string text = fmt::format("granary bench {} [flags]: {}\n\n", command.name, command.summary);
  if (!command.description.empty()) text += wrapped(command.description, 0) + "\n";
  if (!command.flags.empty()) text += fmt::format("Flags of {}:\n{}\n", command.name, flag_list(command.flags));
  text += fmt::format("Flags of every benchmark:\n{}", flag_list(bench::common_flags(command)));
  if (!command.examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : command.examples)
    text += fmt::format("  granary bench {} {}\n", command.name, example);
  return text;
}

}  // namespace granary::cli
