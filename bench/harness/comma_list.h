#pragma once
// "a,b" as words.

#include <algorithm>
#include <string>
#include <vector>

namespace granary::bench {

/// The parts between commas; empty ones are left out.
inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    if (to != from) parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

}  // namespace granary::bench
