#pragma once
// The tables of TATP (Telecommunication Application Transaction Processing Benchmark 1.0). A subscriber's number, from
// 0 on, is its s_id less one. Types of rows and starts of call forwardings count from 0 here, too.

#include <array>
#include <cstdint>

#include "bench/store/spread.h"
#include "bench/store/store.h"

namespace granary::bench::tatp {

enum class SubscriberKey : std::uint64_t {};
enum class NumberKey : std::uint64_t {};      // sub_nbr: the number that its digits make, less one
enum class TypeKey : std::uint64_t {};        // subscriber, and ai_type or sf_type
enum class ForwardingKey : std::uint64_t {};  // subscriber, sf_type, and start_time

inline constexpr std::uint64_t kRowTypes = 4;  // ai_type, sf_type
inline constexpr std::uint64_t kStarts = 3;    // start_time: 0, 8, 16 hours

constexpr TypeKey type_key(std::uint64_t subscriber, std::uint64_t type) {
  return TypeKey{subscriber * kRowTypes + type};
}
constexpr ForwardingKey forwarding_key(std::uint64_t subscriber, std::uint64_t type, std::uint64_t start) {
  return ForwardingKey{(subscriber * kRowTypes + type) * kStarts + start};
}

/// A decimal number with leading zeros.
using Digits = std::array<char, 15>;

constexpr Digits digits_of(std::uint64_t number) {
  Digits digits{};
  for (std::size_t i = digits.size(); i != 0; number /= 10) digits[--i] = static_cast<char>('0' + number % 10);
  return digits;
}
/// Returns the sub_nbr, which is the s_id as a string.
constexpr Digits sub_nbr_of(std::uint64_t subscriber) { return digits_of(subscriber + 1); }
/// Returns the key of a sub_nbr. It is the number less one, and so the subscriber's own number: thus an entry of the
/// index is in the partition of its subscriber.
constexpr NumberKey number_key(const Digits& sub_nbr) {
  std::uint64_t number = 0;
  for (const char digit : sub_nbr) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return NumberKey{number - 1};
}

struct Subscriber {
  std::uint64_t s_id;
  std::uint32_t msc_location, vlr_location;
  Digits sub_nbr;
  std::array<std::uint8_t, 10> bits, hexes, bytes;  // below 2, 16 and 256
};
struct NumberOwner {
  SubscriberKey subscriber;
};
struct AccessInfo {
  std::uint8_t data1, data2;
  std::array<char, 3> data3;
  std::array<char, 5> data4;
};
struct SpecialFacility {
  std::uint8_t is_active, error_control, data_a;
  std::array<char, 5> data_b;
};
struct CallForwarding {
  std::uint8_t end_time;
  Digits numberx;
};

template <store::Store S>
struct Tables {
  template <typename K, typename Row>
  using Parts = store::Spread<typename S::template Table<K, Row>>;

  Parts<SubscriberKey, Subscriber> subscriber;
  Parts<NumberKey, NumberOwner> by_number;  // never written after loading
  Parts<TypeKey, AccessInfo> access_info;   // never written after loading
  Parts<TypeKey, SpecialFacility> special_facility;
  Parts<ForwardingKey, CallForwarding> call_forwarding;
};

}  // namespace granary::bench::tatp
