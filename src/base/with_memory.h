#pragma once
// Turns a lack of heap memory into a Status, where work is done that its caller expects to fail by a Status only.

#include <new>
#include <type_traits>
#include <utility>

#include <granary/status.h>

namespace granary::base {

/// Returns kResourceExhausted. The text is so short that it needs no heap memory itself.
inline Status no_memory() { return {StatusCode::kResourceExhausted, "no heap memory"}; }

/// Calls `work`, and returns its Status or Result, or no_memory() if it throws std::bad_alloc. Then `work` must leave
/// nothing behind for which others wait, such as an entered epoch slot.
template <typename Work>
std::invoke_result_t<Work&> with_memory(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

/// Calls `work`, which tells what somebody should know. If there is no heap memory for that, it is not told, and the
/// caller goes on.
template <typename Work>
void if_memory(Work&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace granary::base
