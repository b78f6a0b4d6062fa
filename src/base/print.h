#pragma once
// Prints formatted text for people. fmt::print throws where a stream cannot be written, on a full disk for example, and
// a message that nobody can read must not end a database. The `granary` command looks at its end whether standard
// output took everything (src/cli/standard_streams.h).

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

/// On standard output.
template <typename... Args>
void print(fmt::format_string<Args...> text, Args&&... args) {
  base::print(stdout, text, std::forward<Args>(args)...);
}

}  // namespace granary::base
