#pragma once
// Writes the result as JSON: BenchBase's summary keys at the top level (of the median repeat), all others under
// "granary".

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/harness/command.h"
#include "bench/harness/machine.h"
#include "bench/harness/result.h"

namespace granary::bench {

/// Changes when a key under "granary" changes its name or meaning.
inline constexpr int kJsonSchemaVersion = 1;

struct ReportInput {
  const BenchCommand& command;
  const FlagValues& flags;
  const Settings& settings;
  const Machine& machine;
  double scale_factor = 0;
  const std::vector<Measurement>& runs;
  bool interrupted =
      false;                ///< whether not all repeats came to their end; those that did not may be left out of `runs`
  std::uint64_t nodes = 1;  ///< the number of nodes whose requests these are, each with the settings' workers
};

/// Returns all flags by their names, given or not, with their final values (set_implied_values()).
nlohmann::ordered_json parameters_json(const FlagValues& flags);

/// Returns one run, as in the report's list of repeats.
nlohmann::ordered_json repeat_json(const Measurement& run);

nlohmann::ordered_json json_report(const ReportInput& input);

/// Writes the whole file. kUnavailable names the file and the reason.
Status write_json(const std::string& path, const nlohmann::ordered_json& json);

/// Ends a command that runs itself: prints the text, and writes the JSON unless `path` is empty.
ExitCode report(const std::string& text, const std::string& path, const nlohmann::ordered_json& json);

}  // namespace granary::bench
