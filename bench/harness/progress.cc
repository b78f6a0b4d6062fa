#include "bench/harness/progress.h"

#include <cstdio>

#include <fmt/format.h>

#include "src/base/print.h"
#include "src/base/tsc_clock.h"

namespace granary::bench {

std::string with_commas(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < 1024ull * 1024 * 1024) return fmt::format("{:.1f} MiB", value / (1 << 20));
  return fmt::format("{:.2f} GiB", value / (1 << 30));
}

void print_progress(const Sample& sample, double length_seconds) {
  const double rate = length_seconds > 0 ? static_cast<double>(sample.requests) / length_seconds : 0;
  const std::string when = sample.seconds <= 0 ? "warm-up" : fmt::format("{:.0f} s", sample.seconds);
  base::print(stderr, "[{:>7}]  {:>11} /s   aborts {:6.3f} %   records {}  index {}  old versions {}  RSS {}\n", when,
              with_commas(static_cast<std::uint64_t>(rate)), 100 * abort_share(sample),
              human_bytes(sample.store.records_bytes), human_bytes(sample.store.index_bytes),
              human_bytes(sample.store.version_bytes), human_bytes(sample.resident_bytes));
}

double abort_share(const Sample& sample) {
  const std::uint64_t attempts = sample.transactions + sample.aborts;
  return attempts == 0 ? 0 : static_cast<double>(sample.aborts) / static_cast<double>(attempts);
}

LoadProgress::LoadProgress(std::string what, std::uint64_t units, bool print)
    : what_(std::move(what)),
      units_(units),
      print_(print),
      start_ns_(base::monotonic_ns()),
      next_line_ns_(start_ns_ + base::kSecondNs) {}

void LoadProgress::add(std::uint64_t done) {
  const std::uint64_t sum = done_.fetch_add(done, std::memory_order_relaxed) + done;
  if (!print_ || units_ == 0) return;
  const std::uint64_t now = base::monotonic_ns();
  std::uint64_t due = next_line_ns_.load(std::memory_order_relaxed);
  if (now < due || !next_line_ns_.compare_exchange_strong(due, now + base::kSecondNs, std::memory_order_relaxed))
    return;
  base::print(stderr, "[loading {:4.0f} s]  {}: {:3.0f} % of {}\n", static_cast<double>(now - start_ns_) / 1e9, what_,
              100 * static_cast<double>(sum) / static_cast<double>(units_), with_commas(units_));
}

}  // namespace granary::bench
