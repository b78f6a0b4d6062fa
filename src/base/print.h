#pragma once
// Prints formatted text for people. fmt::print throws if a stream cannot be written, for example on a full disk, and a
// message that cannot be read must not end a database. At its end, the `granary` command checks whether standard output
// took everything (src/cli/standard_streams.h).

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace granary::base {

template <typename... Args>
void print(std::FILE* to, fmt::format_string<Args...> text, Args&&... args) {
  const std::string formatted = fmt::format(text, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(formatted.data(), 1, formatted.size(), to));
}

/// Prints on standard output.
template <typename... Args>
void print(fmt::format_string<Args...> text, Args&&... args) {
  base::print(stdout, text, std::forward<Args>(args)...);
}

}  // namespace granary::base
