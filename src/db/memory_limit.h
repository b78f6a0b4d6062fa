#pragma once
// Finds out how much memory this process may use.

#include <cstdint>

namespace granary::db {

/// Returns the bytes of the machine's memory, or the limit of the control group if that is less.
std::uint64_t available_memory_bytes();

}  // namespace granary::db
