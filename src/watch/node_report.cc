#include "src/watch/node_report.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace granary::watch {
namespace {

std::string read_all(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t count_files(const char* directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory), ::closedir);
  if (open == nullptr) return 0;
  std::uint64_t count = 0;
  while (const dirent* const entry = ::readdir(open.get())) count += entry->d_name[0] != '.' ? 1 : 0;
  return count - std::min<std::uint64_t>(count, 1);  // without the descriptor that lists the directory
}

/// Returns when the machine was started, in seconds since 1970.
double boot_time() {
  const std::string text = read_all("/proc/stat");
  const std::size_t at = text.find("\nbtime ");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + std::strlen("\nbtime "), nullptr);
}

}  // namespace

ProcessReport look_at_process() {
  ProcessReport report;
  const std::string text = read_all("/proc/self/stat");
  const std::size_t name_end = text.rfind(')');
  unsigned long user = 0, system = 0, threads = 0;
  unsigned long long started = 0;
  long pages = 0;
  // Fields 14, 15, 20, 22 and 24 of proc(5).
  if (name_end != std::string::npos &&
      std::sscanf(text.c_str() + name_end + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %lu %*d %llu %*u %ld", &user,
                  &system, &threads, &started, &pages) == 5) {
    const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    report.cpu_seconds = static_cast<double>(user + system) / ticks;
    report.threads = threads;
    report.resident_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    static const double boot = boot_time();
    report.started_unix_s = boot + static_cast<double>(started) / ticks;
  }
  report.open_files = count_files("/proc/self/fd");
  return report;
}

std::string why_stuck(const NodeReport& report) {
  constexpr std::uint64_t kLeast_us = 5'000'000;
  constexpr std::uint64_t kPeriods = 20;
  if (!report.database) return "";
  const std::uint64_t silent_us = report.database->epoch_thread_silence_us;
  if (silent_us < std::max(kLeast_us, kPeriods * report.epochs.period_ms * 1000)) return "";
  return fmt::format("the thread that advances epochs has stood still for {:.1f} s",
                     static_cast<double>(silent_us) / 1e6);
}

std::string why_not_ready(const NodeReport& report) {
  if (std::string stuck = why_stuck(report); !stuck.empty()) return stuck;
  if (report.membership && !report.membership->lost.empty()) return report.membership->lost;
  if (report.stage != Stage::kServing) return fmt::format("the node is {}", name(report.stage));
  if (report.membership && !report.membership->commits)
    return "the node may not commit until its membership is confirmed again";
  return report.log_trouble;
}

}  // namespace granary::watch
