#pragma once
// Starts threads that the system may refuse: a process or a container may have only so many, and each needs memory for
// its stack.

#include <system_error>
#include <type_traits>

#include <granary/function_ref.h>
#include <granary/status.h>

namespace granary::base {

/// Calls work(0) … work(count - 1) once each, at the same time: the first on the calling thread, the others on threads
/// of their own. If the system refuses a thread, the calling thread makes that call afterwards. So no call may wait for
/// another. If calls throw, share_out() throws what one of them has thrown, when all have ended.
void share_out(unsigned count, FunctionRef<void(unsigned)> work);

/// Names the calling thread for operators, as `top -H` and `ps -L` show it: "gr-" and at most 12 more characters.
void name_thread(const char* name);

/// Returns kResourceExhausted, with the system's reason.
Status thread_refused(const std::system_error& refusal);

/// Calls `work`, which starts threads, and returns its Status or Result, or thread_refused() if the system refuses a
/// thread. Other errors that `work` throws are not caught, such as a std::filesystem::filesystem_error, which is a
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
