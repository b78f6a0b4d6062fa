#include "src/base/byte_size.h"

#include <charconv>
#include <limits>

namespace granary::base {

bool parse_bytes(std::string_view text, std::uint64_t& bytes) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (unit == "KiB")
    shift = 10;
  else if (unit == "MiB")
    shift = 20;
  else if (unit == "GiB")
    shift = 30;
  else if (unit == "TiB")
    shift = 40;
  else if (!unit.empty() && unit != "B")
    return false;
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return false;
  bytes = number << shift;
  return true;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kMiB * kKiB, kTiB = kGiB * kKiB;
  if (bytes != 0 && bytes % kTiB == 0) return std::to_string(bytes / kTiB) + "TiB";
  if (bytes != 0 && bytes % kGiB == 0) return std::to_string(bytes / kGiB) + "GiB";
  if (bytes != 0 && bytes % kMiB == 0) return std::to_string(bytes / kMiB) + "MiB";
  if (bytes != 0 && bytes % kKiB == 0) return std::to_string(bytes / kKiB) + "KiB";
  return std::to_string(bytes);
}

}  // namespace granary::base
