#include "src/cli/cluster_check/finding.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace granary::cluster_check {
namespace {

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood: return "ok";
    case Verdict::kNote: return "note";
    case Verdict::kWarning: return "warning";
    case Verdict::kBad: break;
  }
  return "bad";
}

}  // namespace

void append(Findings& findings, Findings more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool any_bad(std::span<const Finding> findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return one.verdict == Verdict::kBad; });
}

std::string text_of(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& one : findings) {
    text += fmt::format("  {:<8} {:<18} {}\n", name(one.verdict), one.subject, one.found);
    if (!one.mend.empty()) text += fmt::format("  {:<8} {:<18} to mend it: {}\n", "", "", one.mend);
  }
  return text;
}

nlohmann::ordered_json json_of(std::span<const Finding> findings) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& one : findings) {
    list.push_back({{"check", one.subject}, {"verdict", name(one.verdict)}, {"found", one.found}, {"mend", one.mend}});
  }
  return list;
}

}  // namespace granary::cluster_check
