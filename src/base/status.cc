#include <granary/status.h>

#include <cstdio>
#include <cstdlib>

namespace granary {

void end_without_value(const Status& status) {
  std::fprintf(stderr, "granary: a program took the value of a failed call without looking at its status: %s\n",
               status.ok() ? "it has neither value nor error" : status.message().c_str());
  std::abort();
}

}  // namespace granary
