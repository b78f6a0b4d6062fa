#include "cluster_config/membership/board_silence.h"

#include <fmt/format.h>

#include <utility>

namespace granary::membership {

std::optional<std::string> BoardSilence::note(const Status& used, const Fence& fence) {
  const std::uint64_t now = lifetime_us();
  const auto seconds = [now](std::uint64_t from_us) { return static_cast<double>(now - from_us) / 1e6; };
  if (used.ok()) {
    const std::uint64_t before_us = std::exchange(heard_us_, now);
    if (std::exchange(warned_us_, 0) == 0) return {};
    return fmt::format("{} answers again after {:.1f} s: node {} is still a member, and goes on", board_,
                       seconds(before_us), node_);
  }
  if (heard_us_ == 0) heard_us_ = now;
  if (warned_us_ != 0 && now - warned_us_ < kWarnEvery_us) return {};
  warned_us_ = now;
  const std::uint64_t until_us = fence.valid_until_us();
  const std::string commits = until_us == kForever ? "goes on, and does not hear who dies"
                              : now < until_us
                                  ? fmt::format("commits for another {} ms, and then nothing", (until_us - now) / 1000)
                                  : "commits nothing";
  return fmt::format(
      "{} has not been heard from for {:.1f} s ({}). Node {} {} until it is. If its membership is gone by then, that "
      "is lost (exit code 6)",
      board_, seconds(heard_us_), used.message(), node_, commits);
}

}  // namespace granary::membership
