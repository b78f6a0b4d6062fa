#pragma once
// Threads that the system may refuse: a process or a container may have only so many, and each needs memory for its stack.

#include <system_error>
#include <type_traits>

#include <granary/function_ref.h>
#include <granary/status.h>

namespace granary::base {

/// Calls work(0) … work(count - 1) once each, at the same time: the first on the calling thread, the others on threads of their own. Those that
/// the system refuses a thread are called afterwards by the calling thread. So none of them may wait for another.
void share_out(unsigned count, FunctionRef<void(unsigned)> work);

/// kResourceExhausted, with what the system said.
Status thread_refused(const std::system_error& refusal);

/// Returns what `work` does, which starts threads and returns a Status or a Result; thread_refused() if the system refuses one.
template <typename Work>
std::invoke_result_t<Work&> with_threads(Work&& work) {
  try {
    return work();
  } catch (const std::system_error& refusal) {
    return thread_refused(refusal);
  }
}

}  // namespace granary::base
