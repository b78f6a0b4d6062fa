#include "htm/support.h"

#include "htm/program_pages.h"
#include "htm/rtm.h"
#include "src/base/options_table.h"

namespace granary::htm {
namespace {

Status check(const HtmSimulation& simulation) {
  if (const Status checked = option::check("Options::htm_simulation.", simulation); !checked.ok()) return checked;
  if (!base::kTestHooks) {
    return {
        StatusCode::kUnavailable,
        "Options::htm is kSim, the simulated HTM, which this build does not have: it needs -DGRANARY_TEST_HOOKS=ON"};
  }
  return {};
}

}  // namespace

std::string_view name(Backend backend) {
  switch (backend) {
    case Backend::kRtm: return "rtm";
    case Backend::kSim: return "sim";
    case Backend::kOff: break;
  }
  return "off";
}

Result<std::unique_ptr<Support>> Support::open(Htm asked, const HtmSimulation& simulation) {
  Backend backend = Backend::kOff;
  if (asked == Htm::kSim) {
    if (const Status checked = check(simulation); !checked.ok()) return checked;
    backend = Backend::kSim;
  } else if (asked != Htm::kOff && rtm_works()) {
    backend = Backend::kRtm;
  } else if (asked == Htm::kRtm) {
    return Status(
        StatusCode::kUnavailable,
        "Options::htm is kRtm, but no region commits on this processor: it has no Intel TSX, or firmware or the "
        "kernel (tsx=off) disabled it; use kAuto or kOff");
  }
  return std::make_unique<Support>(backend, simulation);
}

Support::Support(Backend backend, const HtmSimulation& simulation) : backend_(backend), simulation_(simulation) {
  if (backend == Backend::kSim) watch_.emplace();
  if (backend == Backend::kRtm) touch_program();
}

}  // namespace granary::htm
