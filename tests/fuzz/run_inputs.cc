// Runs a fuzz target over the files of a directory, without libFuzzer:
//
//   fuzz_inputs_NAME DIRECTORY
//
// What writers wrote must be read whole; if it is not, the format has changed and the corpus is to be made again.
// Inputs named found-... once broke the target and may be refused.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/target.h"

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]), 2;
  int written = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    const std::string name = entry.path().filename().string();
    const bool whole = granary::fuzz::read(contents(entry.path()));
    if (name.starts_with("found-")) continue;
    ++written;
    if (whole) continue;
    ++refused;
    std::fprintf(stderr, "%s is not read whole any more\n", entry.path().c_str());
  }
  if (written == 0 || refused != 0)
    return std::fprintf(stderr, "make the corpus again: cmake --build BUILD --target fuzz_corpus\n"), 1;
  std::printf("%d inputs\n", written);
  return 0;
}
