#include <algorithm>

#include "src/cli/tool.h"

namespace granary::cli {

const std::vector<const Tool*>& tools() {
  static const std::vector<const Tool*> all{
      &log_stat_tool(),    &log_dump_tool(), &log_verify_tool(), &checkpoint_verify_tool(),
      &recover_tool(),     &backup_tool(),   &rings_tool(),      &cluster_check_tool(),
      &cluster_key_tool(), &doctor_tool(),   &node_tool(),       &top_tool()};
  return all;
}

std::vector<std::string> tool_groups() {
  std::vector<std::string> groups;
  for (const Tool* tool : tools()) {
    if (groups.empty() || groups.back() != tool->group) groups.push_back(tool->group);
  }
  return groups;
}

std::vector<const Tool*> tools_of(std::string_view group) {
  std::vector<const Tool*> found;
  std::copy_if(tools().begin(), tools().end(), std::back_inserter(found),
               [&](const Tool* tool) { return tool->group == group; });
  return found;
}

}  // namespace granary::cli
