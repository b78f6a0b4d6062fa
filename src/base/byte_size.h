#pragma once
// Reads and writes sizes as people write them: "1TiB", "8GiB", "512MiB", "4KiB", "4096".

#include <cstdint>
#include <string>
#include <string_view>

namespace granary::base {

/// Reads a size. Returns false if the text is none.
bool parse_bytes(std::string_view text, std::uint64_t& bytes);

/// Returns the size in the greatest unit of which it is a multiple.
std::string size_text(std::uint64_t bytes);

}  // namespace granary::base
