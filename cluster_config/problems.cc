#include "cluster_config/problems.h"

#include <algorithm>

#include <fmt/format.h>

namespace granary::cluster_config {

void Problems::add(int line, std::string message) {
  const bool known = std::any_of(list_.begin(), list_.end(), [&](const Problem& problem) {
    return problem.line == line && problem.message == message;
  });
  if (!known) list_.push_back({line, std::move(message)});
}

std::vector<std::string> Problems::lines() const {
  std::vector<Problem> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) lines.push_back(fmt::format("{}:{}: {}", file_, problem.line, problem.message));
  return lines;
}

Status Problems::status() const {
  const std::vector<std::string> all = lines();
  const std::size_t more = all.size() - 1;
  return Status(StatusCode::kInvalidArgument,
                more == 0
                    ? all.front()
                    : fmt::format("{} (and {} more; 'granary cluster check {}' lists them)", all.front(), more, file_));
}

}  // namespace granary::cluster_config
