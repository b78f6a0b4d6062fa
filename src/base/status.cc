#include <granary/status.h>

#include "src/base/check.h"

namespace granary {

void end_without_value(const Status& status) {
  base::abort_misuse("a program took the value of a failed call without looking at its status: " +
                     (status.ok() ? "it has neither value nor error" : status.message()));
}

}  // namespace granary
