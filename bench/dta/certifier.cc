#include "bench/dta/certifier.h"

#include "src/base/check.h"

namespace granary::bench::dta {

Certifier::Certifier() {
  for (std::uint32_t session = Row::kSessions; session != 0; --session) free_.push_back(session - 1);
}

std::optional<std::uint32_t> Certifier::take_session() {
  const std::lock_guard inside(critical_section_);
  if (free_.empty()) return std::nullopt;
  const std::uint32_t session = free_.back();
  free_.pop_back();
  return session;
}

void Certifier::give_session(std::uint32_t session) {
  const std::lock_guard inside(critical_section_);
  free_.push_back(session);
}

Timestamp Certifier::choose(const Interval& interval) {
  if (interval.until != kNever) return interval.from + (interval.until - interval.from) / 2;
  base::debug_check(interval.from <= latest_ + 1, "an interval begins right behind a timestamp that somebody has");
  latest_ += kRoom;
  return latest_;
}

}  // namespace granary::bench::dta
