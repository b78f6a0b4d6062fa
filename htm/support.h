#pragma once
// Says what the regions of one database run on. It is chosen once, at open, and shared by the workers.

#include <memory>
#include <optional>
#include <string_view>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/line_table.h"

namespace granary::htm {

enum class Backend : std::uint8_t { kOff, kRtm, kSim };
/// Returns "off", "rtm" or "sim".
std::string_view name(Backend backend);

class Support {
 public:
  /// Chooses the backend. kAuto is kRtm where that works, and otherwise kOff. Returns kUnavailable if this machine does
  /// not have the backend that is asked for, and kInvalidArgument if the simulation's numbers are out of range.
  static Result<std::unique_ptr<Support>> open(Htm asked, const HtmSimulation& simulation = {});

  /// Takes the backend without any check. For tests of machines on which RTM does not commit.
  Support(Backend backend, const HtmSimulation& simulation);

  Backend backend() const { return backend_; }
  const HtmSimulation& simulation() const { return simulation_; }

 private:
  const Backend backend_;
  const HtmSimulation simulation_;
  std::optional<base::lines::Watch> watch_;  // for the simulation, from before the workers' first accesses
};

}  // namespace granary::htm
