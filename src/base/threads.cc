#include "src/base/threads.h"

#include <pthread.h>

#include <thread>
#include <vector>

namespace granary::base {

void share_out(unsigned count, FunctionRef<void(unsigned)> work) {
  std::vector<std::jthread> helpers;
  unsigned helped = 1;  // shares below this one have a thread
  try {
    for (; helped < count; ++helped) helpers.emplace_back([work, helped] { work(helped); });
  } catch (const std::system_error&) {
    // The calling thread does the other shares.
  }
  if (count > 0) work(0);
  for (; helped < count; ++helped) work(helped);
}

void name_thread(const char* name) { static_cast<void>(::pthread_setname_np(::pthread_self(), name)); }

Status thread_refused(const std::system_error& refusal) {
  return {StatusCode::kResourceExhausted,
          "the system refuses another thread: " + refusal.code().message() +
              "; raise the limit of processes (ulimit -u, or the pids.max of the container), or that of memory"};
}

}  // namespace granary::base
