#pragma once
// What one database's regions run on: chosen once, at open, shared by its workers.

#include <memory>
#include <optional>
#include <string_view>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/line_table.h"

namespace granary::htm {

enum class Backend : std::uint8_t { kOff, kRtm, kSim };
/// "off", "rtm", "sim".
std::string_view name(Backend backend);

class Support {
 public:
  /// kAuto is kRtm where that works and kOff where not. Fails with kUnavailable if what is asked for does not exist
  /// here, with kInvalidArgument if the simulation's numbers are out of range.
  static Result<std::unique_ptr<Support>> open(Htm asked, const HtmSimulation& simulation = {});

  /// Without any question: for tests of what happens where RTM does not commit.
  Support(Backend backend, const HtmSimulation& simulation);

  Backend backend() const { return backend_; }
  const HtmSimulation& simulation() const { return simulation_; }

 private:
  const Backend backend_;
  const HtmSimulation simulation_;
  std::optional<base::lines::Watch> watch_;  // of the simulation, from before the workers' first accesses
};

}  // namespace granary::htm
