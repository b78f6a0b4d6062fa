#pragma once
// Draws transactions, their subscribers, and the rows of the population, as the specification has them.

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "bench/store/range_flags.h"
#include "bench/store/range_work.h"
#include "bench/tatp/schema.h"

namespace granary::bench::tatp {

enum class Type : std::uint8_t {
  kGetSubscriberData,
  kGetNewDestination,
  kGetAccessData,
  kUpdateSubscriberData,
  kUpdateLocation,
  kInsertCallForwarding,
  kDeleteCallForwarding
};
inline constexpr std::array<std::string_view, 7> kTypeNames{
    "get_subscriber_data", "get_new_destination",    "get_access_data",       "update_subscriber_data",
    "update_location",     "insert_call_forwarding", "delete_call_forwarding"};
inline constexpr std::array<std::uint32_t, 7> kMix{35, 10, 35, 2, 14, 2, 2};  // the share of each type, in per cent

inline std::uint8_t byte_below(std::uint64_t bound, base::Random& random) {
  return static_cast<std::uint8_t>(random.below(bound));
}
inline std::uint32_t draw_location(base::Random& random) { return static_cast<std::uint32_t>(random.between(1, ~0u)); }
inline Digits draw_digits(base::Random& random) { return digits_of(random.below(1'000'000'000'000'000)); }
template <std::size_t N>
std::array<char, N> draw_letters(base::Random& random) {
  std::array<char, N> text;
  for (char& letter : text) letter = static_cast<char>('A' + random.below(26));
  return text;
}

inline Subscriber draw_subscriber(std::uint64_t number, base::Random& random) {
  Subscriber row{number + 1, draw_location(random), draw_location(random), sub_nbr_of(number), {}, {}, {}};
  for (std::uint8_t& bit : row.bits) bit = byte_below(2, random);
  for (std::uint8_t& hex : row.hexes) hex = byte_below(16, random);
  for (std::uint8_t& byte : row.bytes) byte = byte_below(256, random);
  return row;
}
inline AccessInfo draw_access_info(base::Random& random) {
  return {byte_below(256, random), byte_below(256, random), draw_letters<3>(random), draw_letters<5>(random)};
}
inline SpecialFacility draw_special_facility(base::Random& random) {
  const std::uint8_t active = random.chance(0.85) ? 1 : 0;
  return {active, byte_below(256, random), byte_below(256, random), draw_letters<5>(random)};
}
/// Draws a call forwarding from this start on. It lasts 1 to 8 hours.
inline CallForwarding draw_call_forwarding(std::uint64_t start, base::Random& random) {
  return {static_cast<std::uint8_t>(start * 8 + 1 + random.below(8)), draw_digits(random)};
}
/// Draws the types, or starts, of `least` to `most` rows, all equally likely.
inline std::vector<std::uint64_t> draw_rows(std::uint64_t least, std::uint64_t most, base::Random& random) {
  std::vector<std::uint64_t> rows(most);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  std::shuffle(rows.begin(), rows.end(), random);
  rows.resize(least + random.below(most - least + 1));
  return rows;
}

/// The values for one request. Each type of transaction uses only some of them.
struct TatpRequest {
  Type type = Type::kGetSubscriberData;
  std::uint32_t partition = 0;   ///< the subscriber's partition
  std::uint64_t subscriber = 0;  ///< its number; three transactions know its sub_nbr only
  std::uint64_t row_type = 0, start = 0;
  std::uint8_t end_time = 0;  ///< 1 to 24 hours
  std::uint8_t bit = 0, data_a = 0;
  std::uint32_t location = 0;
  Digits numberx = {};
};

/// Draws one worker's requests, most of which are about subscribers of its home partition.
class RequestSource {
 public:
  RequestSource(const store::RangeParameters& parameters, std::uint32_t worker)
      : ranges_(parameters.ranges()),
        distributed_(parameters.distributed),
        home_(store::home_partition(ranges_, parameters.share, worker)),
        random_(parameters.seed, std::uint64_t{0x74617470} << 32 | parameters.share.node << 16 | worker) {}

  TatpRequest next() {
    const auto type = static_cast<Type>(store::draw_of(kMix, random_));
    const std::uint32_t partition = store::home_or_other(ranges_, home_, distributed_, random_);
    return {type,
            partition,
            any_subscriber(ranges_[partition]),
            random_.below(kRowTypes),
            random_.below(kStarts),
            static_cast<std::uint8_t>(1 + random_.below(24)),
            byte_below(2, random_),
            byte_below(256, random_),
            draw_location(random_),
            type == Type::kInsertCallForwarding ? draw_digits(random_) : Digits{}};
  }

 private:
  /// Draws a subscriber of the range, not uniformly but as specified: A grows with the number of subscribers.
  std::uint64_t any_subscriber(const KeyRange& range) {
    const std::uint64_t a = range.size() <= 1'000'000 ? 65'535 : range.size() <= 10'000'000 ? 1'048'575 : 2'097'151;
    return range.from + (random_.below(a + 1) | (1 + random_.below(range.size()))) % range.size();
  }

  const KeyRanges ranges_;
  const double distributed_;
  const std::uint32_t home_;
  base::Random random_;
};

}  // namespace granary::bench::tatp
