// libFuzzer's entry point.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  granary::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
