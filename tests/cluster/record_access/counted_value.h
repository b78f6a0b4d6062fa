#pragma once
// Values that tell when they are torn: a count, who wrote it, and words that follow from both.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/random.h"

namespace granary::cluster {

inline std::uint64_t filler(std::uint64_t count, std::uint64_t writer, std::uint64_t word) {
  std::uint64_t state = count * 1'000'003 + writer * 101 + word;
  return base::splitmix64(state);
}

/// Between 2 and 5 cache lines.
inline std::string counted_value(std::uint64_t count, std::uint64_t writer) {
  std::string value;
  const auto add = [&value](std::uint64_t word) { value.append(reinterpret_cast<const char*>(&word), sizeof word); };
  add(count);
  add(writer);
  for (std::uint64_t word = 2; word < 12 + count % 20; ++word) add(filler(count, writer, word));
  return value;
}

/// Nothing if no one writer wrote all of it.
inline std::optional<std::uint64_t> count_of(std::string_view value) {
  std::uint64_t words[2] = {};
  if (value.size() < sizeof words) return {};
  std::memcpy(words, value.data(), sizeof words);
  return counted_value(words[0], words[1]) == value ? std::optional(words[0]) : std::nullopt;
}

}  // namespace granary::cluster
