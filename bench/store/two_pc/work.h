#pragma once
// Makes the bodies of requests, carries requests out at their node, and takes the bodies of answers apart.

#include <span>

#include "bench/store/two_pc/rows.h"

namespace granary::bench::two_pc {

constexpr bool is_answered(Kind kind) {
  return kind == Kind::kPing || kind == Kind::kRead || kind == Kind::kScan || kind == Kind::kPrepare ||
         kind == Kind::kFinish;
}

/// Carries out a request and makes the body of its answer: whether it was done (it is refused if a lock is held), and
/// what was read. Returns false if the request is malformed, or if the answer is too long for a frame.
bool do_work(Branch& branch, Kind kind, std::string_view body, std::string& answer);

// Return the bodies of requests.
std::string body_of_read(std::span<const Wanted> wanted);
std::string body_of_scan(const Range& range);
std::string body_of_writes(std::span<const Write> writes);

/// Whether an answer says that the request was done.
inline bool is_yes(std::string_view answer) { return Parts(answer).take<std::uint8_t>() == 1; }

/// Calls `take(i, present, value)` for each row of the answer to kRead. Returns false if the request was refused.
template <typename Take>
bool take_rows(std::string_view answer, std::size_t count, Take&& take) {
  Parts parts(answer);
  if (parts.take<std::uint8_t>() != 1) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const bool present = parts.take<std::uint8_t>() == 1;
    const std::string_view value = parts.take_bytes();
    if (!parts.ok()) return false;
    take(i, present, value);
  }
  return true;
}

/// Calls `take(key, value)` for each row of the answer to kScan. Returns false if the request was refused.
template <typename Take>
bool take_range(std::string_view answer, Take&& take) {
  Parts parts(answer);
  if (parts.take<std::uint8_t>() != 1) return false;
  while (parts.more()) {
    const auto key = parts.take<std::uint64_t>();
    if (const std::string_view value = parts.take_bytes(); parts.ok()) take(key, value);
  }
  return parts.ok();
}

}  // namespace granary::bench::two_pc
