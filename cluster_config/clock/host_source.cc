#include "cluster_config/clock/host_source.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "cluster_config/clock/system_time.h"

namespace granary::cluster_config::clock {
namespace {

constexpr const char* kOffsets = "/proc/self/timens_offsets";

/// Whether the offsets, which are of the namespace that children are born into, are the process's own. Mostly they are.
bool offsets_are_ours() {
  std::error_code missing;
  return std::filesystem::read_symlink("/proc/self/ns/time", missing) ==
         std::filesystem::read_symlink("/proc/self/ns/time_for_children", missing);
}

/// Returns how far the monotonic clocks of this process, CLOCK_MONOTONIC_RAW among them, are ahead of the host's. The
/// file has a line for each clock that is shifted by itself: its name, seconds, nanoseconds.
Result<std::int64_t> namespace_shift_ns() {
  std::ifstream offsets(kOffsets);
  if (!offsets) return std::int64_t{0};  // the system has no time namespaces
  std::string clock;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  while (offsets_are_ours() && offsets >> clock >> seconds >> nanoseconds) {
    if (clock == "monotonic" || clock == "1") return seconds * 1'000'000'000 + nanoseconds;
  }
  return Status(StatusCode::kUnavailable,
                std::string(kOffsets) +
                    " does not tell how far this process's clock is shifted; set kind = \"ptp\" in "
                    "[clock] of the cluster file, or \"none\"");
}

}  // namespace

Result<std::unique_ptr<HostSource>> HostSource::open() {
  const Result<std::int64_t> shift = namespace_shift_ns();
  if (!shift.ok()) return shift.status();
  return std::unique_ptr<HostSource>(new HostSource(*shift));
}

std::uint64_t HostSource::time_us() {
  return static_cast<std::uint64_t>(system_ns(CLOCK_MONOTONIC_RAW) - shift_ns_) / 1000;
}

}  // namespace granary::cluster_config::clock
