#pragma once
// How much memory this process may use.

#include <cstdint>

namespace granary::db {

/// Bytes of the machine, or of the control group if that is less.
std::uint64_t available_memory_bytes();

}  // namespace granary::db
