#pragma once
// The commands that look after a database directory or a cluster: `granary log stat DIR` and the like. tool_commands.cc
// lists them.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/exit_code.h"
#include "bench/harness/flags.h"

namespace granary::cli {

struct Tool {
  std::string group = {};  ///< first word: "log"
  std::string name = {};   ///< second word: "stat"; "" if the group is the command
  /// The operand beside the flags: "DIR", a database's directory, "FILE", or "" for none.
  std::string operand = "DIR";
  std::string summary = {};      ///< one line
  std::string description = {};  ///< a short paragraph for --help
  std::vector<std::string> examples = {};
  std::vector<bench::Flag> flags = {};
  std::function<bench::ExitCode(const std::string& operand, const bench::FlagValues& flags)> run = nullptr;

  std::string words() const { return name.empty() ? group : group + " " + name; }
};

const Tool& log_stat_tool();
const Tool& log_dump_tool();
const Tool& log_verify_tool();
const Tool& checkpoint_verify_tool();
const Tool& recover_tool();
const Tool& backup_tool();
const Tool& rings_tool();
const Tool& cluster_check_tool();
const Tool& cluster_key_tool();
const Tool& doctor_tool();
const Tool& node_tool();
const Tool& top_tool();

/// Returns the tools in the order in which help lists them.
const std::vector<const Tool*>& tools();
/// Returns the first words of all tools, each once.
std::vector<std::string> tool_groups();
/// Returns the tools of one group; empty if there is none of this name.
std::vector<const Tool*> tools_of(std::string_view group);

}  // namespace granary::cli
