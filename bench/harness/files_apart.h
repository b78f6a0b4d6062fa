#pragma once
// Checks that a file which a command writes is not another one that it writes or reads, because one of the two would be
// lost.

#include <vector>

#include <granary/status.h>

#include "bench/harness/flags.h"

namespace granary::bench {

/// Returns kInvalidArgument if two flags name the same file, and the command writes one of them. Devices and pipes may
/// be the same.
Status check_files_apart(const std::vector<Flag>& flags, const FlagValues& values);

}  // namespace granary::bench
