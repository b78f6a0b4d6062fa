#include "bench/harness/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace granary::bench {

Result<std::string> read_text(const std::string& path) {
  std::error_code ignored;
  // A directory opens as a file does, and throws when it is read.
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path, ignored))
    return Status(StatusCode::kUnavailable, fmt::format("cannot read '{}'", path));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace granary::bench
