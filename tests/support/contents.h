#pragma once
// What a file holds. Of a file that cannot be read: nothing.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace granary::tests {

/// All at once: char by char, in code that is not optimized, a ring of 1 MiB takes as long as the test that looks at it.
inline std::string contents(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace granary::tests
