// The `granary` command: finds out which command the words name, checks every word, and hands over.

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/files_apart.h"
#include "bench/harness/flag_effects.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"
#include "src/cli/cluster_run.h"
#include "src/cli/commands.h"
#include "src/cli/figure_command.h"
#include "src/cli/flag_parser.h"
#include "src/cli/help.h"
#include "src/base/nearest.h"
#include "src/cli/standard_streams.h"
#include "src/base/print.h"
#include "src/base/threads.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::BenchCommand;
using bench::ExitCode;
using Words = std::vector<std::string>;

constexpr std::string_view kCluster = "cluster";
constexpr std::string_view kFigure = "figure";

ExitCode wrong_usage(const std::string& message) {
  base::print(stderr, "granary: {}\n", message);
  return ExitCode::kUsage;
}

ExitCode show(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return ExitCode::kOk;
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-help" || word == "-h"; }

ExitCode unknown_word(const std::string& what, const std::string& word, const Words& known) {
  const std::string meant = base::nearest(word, known);
  return wrong_usage(meant.empty() ? fmt::format("'{}': no such {}; expected {}", word, what, fmt::join(known, ", "))
                                   : fmt::format("'{}': no such {}; did you mean {}?", word, what, meant));
}

/// Returns the names of the benchmarks. After "cluster run" and the like these are the ones that run on nodes.
Words bench_names(const std::string& first) {
  Words names;
  for (const BenchCommand* command : bench_commands()) {
    if (first == "bench" || command->on_nodes) names.push_back(command->name);
  }
  return names;
}

bool gives_protocol(const Words& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    return name == "--protocol" || name == "-protocol";
  });
}

/// Runs the benchmark that the words name, by `run`. `first` is what stood before them, `overview` the help on it.
ExitCode run_bench_words(const Words& words, const std::string& first, std::string (*overview)(),
                         ExitCode (*run)(const BenchCommand&, const bench::FlagValues&)) {
  if (words.empty())
    return wrong_usage(fmt::format("{}: which one? expected {}", first, fmt::join(bench_names(first), ", ")));
  if (asks_for_help(words[0])) return show(overview());
  const BenchCommand* command = find_bench_command(words[0]);
  if (command == nullptr) return unknown_word("benchmark", words[0], bench_names(first));
  const Words arguments(words.begin() + 1, words.end());
  for (const std::string& argument : arguments) {
    if (asks_for_help(argument)) return show(command_help(*command));
  }
  if (first != "bench" && !command->on_nodes)
    return wrong_usage(fmt::format("{} {}: it does not run on the nodes of a cluster; expected {}", first,
                                   command->name, fmt::join(bench_names(first), ", ")));
  if (!command->no_protocol.empty() && gives_protocol(arguments))
    return wrong_usage(fmt::format("--protocol: '{} {}' {}", first, command->name, command->no_protocol));
  std::vector<bench::Flag> flags = command->flags;
  for (bench::Flag& flag : bench::common_flags(*command)) flags.push_back(std::move(flag));
  Result<bench::FlagValues> values = parse_flags(first + " " + command->name, flags, arguments);
  if (!values.ok()) return wrong_usage(values.status().message());
  if (const Status apart = bench::check_files_apart(flags, *values); !apart.ok()) return wrong_usage(apart.message());
  bench::set_implied_values(*command, *values);
  return run(*command, *values);
}

Words tool_names(const std::vector<const Tool*>& group) {
  Words names;
  for (const Tool* tool : group) names.push_back(tool->name);
  if (group[0]->group != kCluster) return names;
  for (const ClusterBench& each : cluster_benches()) names.push_back(each.name);
  return names;
}

std::string group_help(const std::vector<const Tool*>& group) {
  return group[0]->group == kCluster ? cluster_help() : tool_group_help(group);
}

/// Returns what the words after "cluster" mean if they begin with one that a benchmark's name follows; else nullptr.
const ClusterBench* cluster_bench_of(const std::string& first, const Words& rest) {
  return first == kCluster && !rest.empty() ? find_cluster_bench(rest[0]) : nullptr;
}

/// Returns the tool that the first words name, and takes these away. Returns nullptr if they name none; `*code` then is
/// the exit code of the message.
const Tool* find_tool(const std::vector<const Tool*>& group, Words* words, ExitCode* code) {
  if (group.size() == 1 && group[0]->name.empty()) return group[0];
  const Words names = tool_names(group);
  if (words->empty()) {
    *code = wrong_usage(fmt::format("{}: what of it? expected {}", group[0]->group, fmt::join(names, ", ")));
    return nullptr;
  }
  const auto named = std::find(names.begin(), names.end(), words->front());
  if (named == names.end()) {
    *code = unknown_word(fmt::format("{} command", group[0]->group), words->front(), names);
    return nullptr;
  }
  words->erase(words->begin());
  return group[static_cast<std::size_t>(named - names.begin())];
}

ExitCode run_tool_words(const std::vector<const Tool*>& group, Words words) {
  if (!words.empty() && asks_for_help(words[0]) && !group[0]->name.empty()) return show(group_help(group));
  ExitCode code = ExitCode::kOk;
  const Tool* const tool = find_tool(group, &words, &code);
  if (tool == nullptr) return code;
  if (std::any_of(words.begin(), words.end(), asks_for_help)) return show(tool_help(*tool));
  Words operands;
  const Result<bench::FlagValues> values = parse_flags(tool->words(), tool->flags, words, &operands);
  if (!values.ok()) return wrong_usage(values.status().message());
  if (tool->operand.empty()) {
    if (!operands.empty()) return wrong_usage(fmt::format("{}: '{}' is one word too many", tool->words(), operands[0]));
    return tool->run("", *values);
  }
  if (operands.empty())
    return wrong_usage(fmt::format("{}: expected a {}", tool->words(), tool->operand == "DIR" ? "directory" : "file"));
  if (operands.size() > 1) return wrong_usage(fmt::format("{}: '{}' is one word too many", tool->words(), operands[1]));
  return tool->run(operands[0], *values);
}

ExitCode help_on_tool(const std::vector<const Tool*>& group, Words words) {
  if (words.empty()) return show(group[0]->name.empty() ? tool_help(*group[0]) : group_help(group));
  ExitCode code = ExitCode::kOk;
  const Tool* const tool = find_tool(group, &words, &code);
  if (tool == nullptr) return code;
  if (!words.empty()) return wrong_usage(fmt::format("help: '{}' is one word too many", words[0]));
  return show(tool_help(*tool));
}

/// Returns the words that may come first: bench, the tools, and `more`.
Words first_words(const Words& more) {
  Words known{"bench", std::string(kFigure)};
  for (std::string& group : tool_groups()) known.push_back(std::move(group));
  known.insert(known.end(), more.begin(), more.end());
  return known;
}

/// Prints the help on the benchmark that the words name, or the overview if there are no words.
ExitCode help_on_bench(const Words& words, std::string (*overview)()) {
  if (words.empty()) return show(overview());
  const BenchCommand* command = find_bench_command(words[0]);
  if (command == nullptr) return unknown_word("benchmark", words[0], bench_names("bench"));
  if (words.size() > 1) return wrong_usage(fmt::format("help: '{}' is one word too many", words[1]));
  return show(command_help(*command));
}

ExitCode help(const Words& topic) {
  if (topic.empty()) return show(general_help());
  const Words rest(topic.begin() + 1, topic.end());
  if (topic[0] == "bench") return help_on_bench(rest, bench_help);
  if (find_bench_command(topic[0]) != nullptr) return help_on_bench(topic, bench_help);
  if (topic[0] == kFigure) {
    Words asked = rest;  // the words may name a use of figure: compare, or gallery
    asked.emplace_back("--help");
    return run_figure(asked);
  }
  if (topic[0] == "options" && rest.empty()) return show(options_help());
  if (topic[0] == "protocols" && rest.empty()) return show(protocols_help());
  if (const ClusterBench* const named = cluster_bench_of(topic[0], rest))
    return help_on_bench(Words(rest.begin() + 1, rest.end()), named->help);
  if (const auto group = tools_of(topic[0]); !group.empty()) return help_on_tool(group, rest);
  return unknown_word("topic", topic[0], first_words({"options", "protocols"}));
}

ExitCode run(const Words& words) {
  if (words.empty()) return wrong_usage("no command; see 'granary help'");
  const std::string& first = words[0];
  const Words rest(words.begin() + 1, words.end());
  if (first == "bench") return run_bench_words(rest, first, bench_help, bench::run_bench);
  if (const ClusterBench* const named = cluster_bench_of(first, rest))
    return run_bench_words(Words(rest.begin() + 1, rest.end()), "cluster " + named->name, named->help, named->run);
  if (first == kFigure) return run_figure(rest);
  if (first == "help") return help(rest);
  if (const auto group = tools_of(first); !group.empty()) return run_tool_words(group, rest);
  const bool version = first == "--version" || first == "version";
  if ((version || asks_for_help(first)) && !rest.empty())
    return wrong_usage(fmt::format("{}: '{}' is one word too many", first, rest[0]));
  if (version) return show(fmt::format("granary {}\n", base::version_text()));
  if (asks_for_help(first)) return show(general_help());
  return unknown_word("command", first, first_words({"help", "--version"}));
}

ExitCode run_with_threads(const Words& words) {
  const Result<ExitCode> code = base::with_threads([&]() -> Result<ExitCode> { return run(words); });
  return code.ok() ? *code : bench::refuse(bench::exit_code_of(code.status()), code.status().message());
}

}  // namespace
}  // namespace granary::cli

int main(int argc, char** argv) {
  using namespace granary::cli;
  const bool output = prepare_streams();
  const std::vector<std::string> words(argv + 1, argv + argc);
  // All commands but a node end with a report. A node serves even if its output cannot be read.
  const bool reports = words.empty() || words[0] != "node";
  if (!output && reports) return static_cast<int>(refuse_closed_output());
  const granary::bench::ExitCode code = run_with_threads(words);
  return static_cast<int>(reports ? finish_output(code) : code);
}
