#include "src/base/process_mark.h"

#include <pthread.h>

#include <string>
#include <utility>

namespace granary::base {
namespace {

void count_fork() { fork_count.value.fetch_add(1, std::memory_order_relaxed); }

/// The handler is registered before main(), so that no thread can be in the midst of that when another one forks.
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, count_fork);

struct Kept {
  std::shared_ptr<void> object;
  Kept* next;
};

}  // namespace

Status used_in_fork(std::string_view deed) {
  return {StatusCode::kFailedPrecondition,
          "this process is a fork of the one that " + std::string(deed) +
              ", and only that one may use it; a child process opens and joins what it uses itself"};
}

void keep_for_good(std::shared_ptr<void> inherited) {
  // Written by every thread that keeps something. Only a leak checker reads it, which finds the kept objects in this
  // way.
  static constinit std::atomic<Kept*> newest{nullptr};
  auto* const kept = new Kept{std::move(inherited), newest.load(std::memory_order_relaxed)};
  while (!newest.compare_exchange_weak(kept->next, kept, std::memory_order_relaxed)) {
  }
}

}  // namespace granary::base
