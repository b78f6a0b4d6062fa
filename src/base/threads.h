#pragma once
// Threads that the system may refuse: a process or a container may have only so many, and each needs memory for its
// stack.

#include <system_error>
#include <type_traits>

#include <granary/function_ref.h>
#include <granary/status.h>

namespace granary::base {

/// Calls work(0) … work(count - 1) once each, at the same time: the first on the calling thread, the others on threads
/// of their own. Those that the system refuses a thread are called afterwards by the calling thread. So none of them
/// may wait for another.
void share_out(unsigned count, FunctionRef<void(unsigned)> work);

/// Names the calling thread for operators, as `top -H` and `ps -L` show it: "gr-" and at most 12 more characters.
void name_thread(const char* name);

/// kResourceExhausted, with what the system said.
Status thread_refused(const std::system_error& refusal);

/// Calls `work`, which starts threads, and returns the Status or Result that it returns; thread_refused() if the system
/// refuses a thread. Another error that `work` throws is not caught, as a std::filesystem::filesystem_error, which is a
/// std::system_error as well.
template <typename Work>
std::invoke_result_t<Work&> with_threads(Work&& work) {
  try {
    return work();
  } catch (const std::system_error& refusal) {
    if (refusal.code() != std::errc::resource_unavailable_try_again) throw;
    return thread_refused(refusal);
  }
}

}  // namespace granary::base
