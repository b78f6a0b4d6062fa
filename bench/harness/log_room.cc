#include "bench/harness/log_room.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "bench/harness/fresh_database.h"
#include "bench/harness/progress.h"

namespace granary::bench {

namespace {

/// The bytes to be written to one device, and a path on it.
struct Need {
  std::string path;
  std::uint64_t bytes = 0;
};

/// The needs of devices by their numbers, as several directories may be on one device.
class Needs {
 public:
  void add(const std::string& directory, std::uint64_t bytes) {
    const std::string parent = std::filesystem::path(directory).parent_path().string();
    struct stat found {};
    if (::stat(parent.c_str(), &found) != 0) return;  // opening reports the error
    Need& need = by_device_[found.st_dev];
    need.path = parent;
    need.bytes += bytes;
  }
  Status check(const std::string& what) const {
    for (const auto& [device, need] : by_device_) {
      const std::uint64_t free = free_bytes(need.path);
      if (need.bytes <= free / 10 * 9) continue;
      return {StatusCode::kResourceExhausted,
              fmt::format("{} needs about {} below '{}'; {} are free. Choose a --directory with more room, or smaller "
                          "data, less --seconds or --repeat, or a --checkpoint_interval",
                          what, human_bytes(need.bytes), need.path, human_bytes(free))};
    }
    return {};
  }

 private:
  std::map<dev_t, Need> by_device_;
};

/// Returns the needs of a log of so many bytes. Loggers take the directories in turn.
Needs of_log(const Options& options, std::uint64_t bytes) {
  Needs needs;
  const std::vector<std::string> directories =
      options.log_directories.empty() ? std::vector{options.directory} : options.log_directories;
  for (const std::string& directory : directories) needs.add(directory, bytes / directories.size());
  return needs;
}

}  // namespace

Status check_log_room(const Options& options, std::uint64_t bytes, const std::string& what) {
  return options.directory.empty() ? Status() : of_log(options, bytes).check(what);
}

Status check_log_room(const Options& options, const LogForecast& forecast, const std::string& what) {
  if (options.directory.empty()) return {};
  const double interval = options.checkpoint_interval_s;
  const double seconds = interval == 0 ? forecast.seconds : std::min(forecast.seconds, 2 * interval);
  Needs needs = of_log(options, static_cast<std::uint64_t>(forecast.bytes_per_second * seconds));
  if (interval != 0) needs.add(options.directory, 2 * forecast.data_bytes);
  return needs.check(what);
}

}  // namespace granary::bench
