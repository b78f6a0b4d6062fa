#pragma once
// What the judge says of a run's histories: in words on standard output, and as JSON.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/append/history/check.h"
#include "bench/harness/exit_code.h"

namespace granary::bench::append {

class Verdicts {
 public:
  /// Judges a history and prints the verdict. `what` names it.
  void judge(const std::string& what, const history::History& history, bool strict);

  /// kCheckFailed unless all were valid; wrong usage if one is no history at all and `given` by the user.
  ExitCode code(bool given) const;
  /// The members of a report's "granary".
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
