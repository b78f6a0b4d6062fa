#pragma once
// Collects what the judge says of the histories of a run, and tells it in words on standard output and as JSON.

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

  /// Returns kCheckFailed unless all histories were valid, and kUsage if one that the user has `given` is no history at all.
  ExitCode code(bool given) const;
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
