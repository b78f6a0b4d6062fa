#pragma once
// Bodies of frames: what a request says, done at its node, and what the answer says.

#include <span>

#include "bench/store/two_pc/rows.h"

namespace granary::bench::two_pc {

constexpr bool is_answered(Kind kind) {
  return kind == Kind::kPing || kind == Kind::kRead || kind == Kind::kScan || kind == Kind::kPrepare ||
         kind == Kind::kFinish;
}

/// Does what a request says and makes the body of its answer: whether it could be done (all locks were to be had), and
/// what was read. False if it cannot be understood, or the answer is too much for a frame.
bool do_work(Branch& branch, Kind kind, std::string_view body, std::string& answer);

// Bodies of requests.
std::string body_of_read(std::span<const Wanted> wanted);
std::string body_of_scan(const Range& range);
std::string body_of_writes(std::span<const Write> writes);

/// Whether an answer says that what was asked for was done.
inline bool is_yes(std::string_view answer) { return Parts(answer).take<std::uint8_t>() == 1; }

/// The answer to kRead: `take(i, present, value)` for each row. False if locks were not to be had.
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

/// The answer to kScan: `take(key, value)` for each row.
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
