#include "src/cli/figure_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "bench/harness/trial.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the folder that has `scripts` and `figures`: beside the program in a build folder, or where it is installed.
std::optional<fs::path> data_folder(const fs::path& program) {
  const fs::path folder = program.parent_path();
  for (const fs::path& each : {folder / "share/granary", (folder / GRANARY_DATA_FROM_BIN).lexically_normal()}) {
    std::error_code ignored;
    if (fs::exists(each / "scripts/run_figure.py", ignored) && fs::is_directory(each / "figures", ignored)) return each;
  }
  return std::nullopt;
}

/// Returns the Python to start. Debian's own Python comes before others in PATH, because Debian's package of matplotlib
/// is for that one.
std::string python() {
  if (const char* const named = std::getenv("PYTHON"); named != nullptr && *named != '\0') return named;
  constexpr const char* kDebian = "/usr/bin/python3";
  return ::access(kDebian, X_OK) == 0 ? kDebian : "python3";
}

}  // namespace

const std::vector<FigureUse>& figure_uses() {
  static const std::vector<FigureUse> uses{
      {"figure NAME", "measures a figure of the papers again; without NAME: lists them"},
      {"figure compare FILE", "draws results of other engines beside ours"},
      {"figure gallery", "writes a page of all figures that were measured"}};
  return uses;
}

bench::ExitCode run_figure(const std::vector<std::string>& words) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const auto data = data_folder(program);
  if (!data)
    return bench::refuse(
        bench::ExitCode::kEnvironment,
        fmt::format("figure: its scripts are missing, in '{}'; install all of Granary, or build it here",
                    (program.parent_path() / GRANARY_DATA_FROM_BIN).lexically_normal().string()));
  std::vector<std::string> all{python(), "-B", (*data / "scripts/run_figure.py").string(),
                               "--granary=" + program.string(), "--figures=" + (*data / "figures").string()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return bench::refuse(
      bench::ExitCode::kEnvironment,
      fmt::format("figure: '{}' does not start ({}); install the package python3, or name a Python of at "
                  "least 3.11 in PYTHON",
                  all[0], std::strerror(errno)));
}

}  // namespace granary::cli
