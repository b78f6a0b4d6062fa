#include "src/base/region_mark.h"

namespace granary::base {

int& region_depth() {
  thread_local constinit int depth = 0;
  return depth;
}

}  // namespace granary::base
