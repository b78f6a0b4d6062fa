#include "src/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace granary::base {

void fail(const char* what, std::source_location where) {
  std::fprintf(stderr, "granary: internal check failed: %s (%s:%u, %s)\n", what, where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

void abort_misuse(const std::string& message) {
  std::fprintf(stderr, "granary: %s\n", message.c_str());
  std::abort();
}

}  // namespace granary::base
