#include "src/base/threads.h"

#include <pthread.h>

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace granary::base {

void share_out(unsigned count, FunctionRef<void(unsigned)> work) {
  std::mutex mutex;
  std::exception_ptr thrown;  // guarded by the mutex until all helpers have ended
  const auto help = [&](unsigned share) {
    try {
      work(share);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (thrown == nullptr) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    unsigned helped = 1;  // shares below this one have a thread
    try {
      for (; helped < count; ++helped) helpers.emplace_back(help, helped);
    } catch (const std::system_error&) {
      // The calling thread does the other shares.
    }
    if (count > 0) work(0);
    for (; helped < count; ++helped) work(helped);
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void name_thread(const char* name) { static_cast<void>(::pthread_setname_np(::pthread_self(), name)); }

Status thread_refused(const std::system_error& refusal) {
  return {StatusCode::kResourceExhausted,
          "the system refuses another thread: " + refusal.code().message() +
              "; raise the limit of processes (ulimit -u, or the pids.max of the container), or that of memory"};
}

}  // namespace granary::base
