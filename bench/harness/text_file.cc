#include "bench/harness/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace granary::bench {

Result<std::string> read_text(const std::string& path) {
  std::error_code ignored;
  // A directory can be opened like a file, but reading it throws.
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path, ignored))
    return Status(StatusCode::kUnavailable, fmt::format("cannot read '{}'", path));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace granary::bench
