#pragma once
// A fuzzed reader, one a program. entry.cc makes it libFuzzer's target; run_inputs.cc runs files through it in any
// build.

#include <string_view>

namespace granary::fuzz {

/// Reads the input; aborts if a promise of the reader is broken. True if all of it is what a writer writes.
bool read(std::string_view input);

}  // namespace granary::fuzz
