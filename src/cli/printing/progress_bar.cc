#include "src/cli/printing/progress_bar.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "bench/harness/progress.h"
#include "src/base/print.h"
#include "src/base/tsc_clock.h"

namespace granary::cli {
namespace {

constexpr std::uint64_t kRedrawNs = base::kSecondNs / 10, kLineNs = 5 * base::kSecondNs;
constexpr std::size_t kWidth = 30;
constexpr double kLeastShare = 0.01;  // must be done before the remaining time is told

}  // namespace

std::string progress_text(const RecoveryProgress& progress, double seconds) {
  const auto done = static_cast<double>(progress.bytes_done);
  const double rate = seconds > 0 ? done / seconds : 0;
  const std::string speed = bench::human_bytes(static_cast<std::uint64_t>(rate));
  if (progress.bytes_all == 0)
    return fmt::format("checkpoint  {}, {}/s", bench::human_bytes(progress.bytes_done), speed);
  const auto all = static_cast<double>(progress.bytes_all);
  const double share = std::min(1.0, done / all);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  // The rate of the first moments says nothing of the rest.
  const bool known = rate > 0 && share >= kLeastShare;
  const std::string left = known ? fmt::format(", {:.0f} s left", (all - std::min(all, done)) / rate) : "";
  return fmt::format("[{}{}] {:3.0f} %  {} of {}, {}/s{}", std::string(filled, '#'), std::string(kWidth - filled, '-'),
                     100 * share, bench::human_bytes(progress.bytes_done), bench::human_bytes(progress.bytes_all),
                     speed, left);
}

ProgressBar::ProgressBar(bool terminal)
    : terminal_(terminal),
      start_ns_(base::monotonic_ns()),
      next_ns_(start_ns_ + (terminal ? 0 : kLineNs)) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && drawn_) std::fputc('\n', stderr);
}

void ProgressBar::show(const RecoveryProgress& progress) {
  const std::uint64_t now = base::monotonic_ns();
  const bool end = progress.bytes_all != 0 && progress.bytes_done >= progress.bytes_all;
  if (now < next_ns_ && !(terminal_ && end)) return;
  next_ns_ = now + (terminal_ ? kRedrawNs : kLineNs);
  const std::string text = progress_text(progress, static_cast<double>(now - start_ns_) / base::kSecondNs);
  base::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[K" : "", text, terminal_ ? "" : "\n");
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace granary::cli
