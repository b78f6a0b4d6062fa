#pragma once
// A fuzzed reader: libFuzzer's entry point, and inputs to begin with. driver.cc runs it where there is no libFuzzer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Reads these bytes; aborts if a promise of the reader is broken. Always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace granary::fuzz {

/// Inputs that go far, to be changed.
std::vector<std::string> seeds();

}  // namespace granary::fuzz
