#pragma once
// Collects the judge's verdicts on the histories of a run, and tells them in words on standard output and as JSON.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/append/history/check.h"
#include "bench/harness/exit_code.h"

namespace granary::bench::append {

class Verdicts {
 public:
  /// Judges a history and prints the verdict. `what` names the history; `strict` asks for strict serializability.
  void judge(const std::string& what, const history::History& history, bool strict);

  /// The origin of the histories: a run that went to its end, one that a failure has cut short, or a file.
  enum class Source : std::uint8_t { kRun, kCutShort, kFile };
  /// Returns kCheckFailed unless all histories were valid, and kUsage if a file's is no history at all. A history of a
  /// run that was cut short may be empty: the exit code of such a run tells the failure.
  ExitCode code(Source source) const;
  /// Returns the verdicts as members of the object "granary" of a JSON report.
  nlohmann::ordered_json json() const;

 private:
  struct Judged {
    std::string what;
    bool strict = true;
    history::Verdict verdict;
  };
  std::vector<Judged> all_;
};

}  // namespace granary::bench::append
