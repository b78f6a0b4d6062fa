#include "bench/harness/files_apart.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

namespace granary::bench {

namespace {

namespace fs = std::filesystem;

/// The flags of files that are written. All other flags with a FILE are read.
constexpr std::array<std::string_view, 4> kWritten{"json", "history", "snapshot_history", "account"};

struct Named {
  std::string flag;
  std::string path;
  bool written() const { return std::ranges::find(kWritten, flag) != kWritten.end(); }
};

bool same_file(const std::string& one, const std::string& other) {
  std::error_code error;
  if (fs::exists(one, error) && fs::exists(other, error))
    return fs::is_regular_file(one, error) && fs::equivalent(one, other, error);
  const fs::path first = fs::weakly_canonical(fs::absolute(one, error), error);
  return !error && first == fs::weakly_canonical(fs::absolute(other, error), error) && !error;
}

}  // namespace

Status check_files_apart(const std::vector<Flag>& flags, const FlagValues& values) {
  std::vector<Named> files;
  for (const Flag& flag : flags) {
    if (flag.kind == FlagKind::kText && (flag.unit == "FILE" || flag.name == "cluster") &&
        !values.text(flag.name).empty())
      files.push_back({flag.name, values.text(flag.name)});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      if (!files[i].written() && !files[j].written()) continue;
      if (!same_file(files[i].path, files[j].path)) continue;
      return {StatusCode::kInvalidArgument,
              fmt::format("--{}={} and --{}={} are the same file; name another one for one of them", files[i].flag,
                          files[i].path, files[j].flag, files[j].path)};
    }
  }
  return {};
}

}  // namespace granary::bench
