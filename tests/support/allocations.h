#pragma once
// How often a thread has asked for memory, counted by the operator new of the test programs (tests/main.cc).

#include <cstdint>

namespace granary::tests {

/// False under sanitizers, which bring allocators of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

/// Counts the allocations of the thread that reads it.
inline thread_local constinit std::uint64_t allocations = 0;
/// The system has no memory for the allocation with this number of the thread that sets it; 0: for none such.
inline thread_local constinit std::uint64_t failing_allocation = 0;
/// While it is true, the system has no memory for the thread that sets it: operator new throws.
inline thread_local constinit bool no_memory = false;

}  // namespace granary::tests
