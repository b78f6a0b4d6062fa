#pragma once
// Reads whole files.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace granary::tests {

/// Returns the bytes of a file, or nothing if the file cannot be read. They are read in one go, since tests are
/// compiled without optimization. There a loop over the characters of a ring of 1 MiB would take as long as the rest of
/// the test.
inline std::string contents(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace granary::tests
