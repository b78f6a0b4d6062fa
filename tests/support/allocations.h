#pragma once
// Counts how often a thread has asked for memory, and lets it find none. The operator new of the test programs
// (tests/main.cc) does both.

#include <cstdint>

namespace granary::tests {

/// Whether allocations are counted. They are not under sanitizers, which bring allocators of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

/// Counts the allocations of the thread that reads it.
inline thread_local constinit std::uint64_t allocations = 0;
/// The number of the allocation for which the thread that sets it finds no memory; 0: there is none such.
inline thread_local constinit std::uint64_t failing_allocation = 0;
/// While it is true, the thread that sets it finds no memory: operator new throws.
inline thread_local constinit bool no_memory = false;

}  // namespace granary::tests
