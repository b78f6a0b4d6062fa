#pragma once
// Shows byte strings to people.

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace granary::cli {

/// Returns the bytes in quotes. Quotes, backslashes and all but printable ASCII characters become \xNN.
inline std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + "\"";
}

}  // namespace granary::cli
