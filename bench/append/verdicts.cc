#include "bench/append/verdicts.h"

#include <algorithm>

#include "src/base/print.h"

namespace granary::bench::append {

void Verdicts::judge(const std::string& what, const history::History& history, bool strict) {
  all_.push_back({what, strict, history::check(history, {.strict = strict})});
  base::print("{}, {}: {}\n", what, strict ? "strictly serializable" : "serializable", all_.back().verdict.text());
}

ExitCode Verdicts::code(Source source) const {
  const auto malformed = [](const Judged& one) { return one.verdict.malformed(); };
  if (source == Source::kFile && std::any_of(all_.begin(), all_.end(), malformed)) return ExitCode::kUsage;
  const bool valid = std::all_of(all_.begin(), all_.end(), [source](const Judged& one) {
    return source == Source::kCutShort ? one.verdict.found.empty() : one.verdict.valid();
  });
  return valid ? ExitCode::kOk : ExitCode::kCheckFailed;
}

nlohmann::ordered_json Verdicts::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [what, strict, verdict] : all_) {
    nlohmann::ordered_json anomalies = nlohmann::ordered_json::array();
    for (const history::Found& found : verdict.found)
      anomalies.push_back({{"anomaly", history::name(found.anomaly)}, {"detail", found.detail}});
    list.push_back({{"history", what},
                    {"strict", strict},
                    {"valid", verdict.valid()},
                    {"committed", verdict.committed},
                    {"with_appends", verdict.writers},
                    {"aborted", verdict.aborted},
                    {"unknown", verdict.unknown},
                    {"keys", verdict.keys},
                    {"versions", verdict.elements},
                    {"anomalies", std::move(anomalies)}});
  }
  return list;
}

}  // namespace granary::bench::append
