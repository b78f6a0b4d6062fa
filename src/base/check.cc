#include "src/base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace granary::base {
namespace {

std::atomic<bool> debug_invariants_muted{false};  // it is set before threads start, so relaxed

}  // namespace

void fail(const char* what, std::source_location where) {
  std::fprintf(stderr, "granary: internal check failed: %s (%s:%u, %s)\n", what, where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

void debug_fail(const char* id, std::source_location where) {
  if (!debug_invariants_muted.load(std::memory_order_relaxed)) fail(id, where);
}

void mute_debug_invariants() { debug_invariants_muted.store(true, std::memory_order_relaxed); }

void abort_misuse(const std::string& message) {
  std::fprintf(stderr, "granary: %s\n", message.c_str());
  std::abort();
}

}  // namespace granary::base
