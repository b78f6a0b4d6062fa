#pragma once
// Describes TATP to store::RangeWorkload: its tables, requests and transactions, and the checks of its rows.

#include "bench/tatp/transactions.h"

namespace granary::bench::tatp {

struct Tatp {
  using Parameters = store::RangeParameters;
  using RequestSource = tatp::RequestSource;
  template <store::Store S>
  using Tables = tatp::Tables<S>;

  static constexpr const char* kName = "tatp";
  static constexpr auto kTypeNames = tatp::kTypeNames;
  static constexpr std::size_t kSums = std::tuple_size_v<Sums>;
  static constexpr store::RangeWords<kSums> kWords{
      .size_flag = "--subscribers",
      .key = "subscriber",
      .broken = "is not complete, or its rows do not fit together",
      .all_whole = "every subscriber is complete: the index by number agrees, no call forwarding lacks its facility",
      .agree = {"rows of call_forwarding: loaded, inserted and deleted = all",
                "vlr_location: loaded and updated = sum of all", "bit_1 and data_a: loaded and updated = sum of all"}};
  static constexpr bool kTellsDistributed = false;  // each transaction is in one partition

  static std::uint64_t estimated_bytes(const Parameters& parameters) {
    // A subscriber has about eleven records, each with an entry of an index.
    constexpr std::uint64_t kBytesASubscriber = 1'500, kFixed = 16 << 20;
    return kFixed + parameters.keys / parameters.share.nodes * kBytesASubscriber;
  }

  template <typename Tables, typename Add>
  static void create(Tables& tables, Add&& add) {
    add(tables.subscriber, "subscriber");
    add(tables.by_number, "subscriber_by_number");
    add(tables.access_info, "access_info", kRowTypes);
    add(tables.special_facility, "special_facility", kRowTypes);
    add(tables.call_forwarding, "call_forwarding", kRowTypes * kStarts);
  }

  template <store::Store S, typename T>
  static bool insert(T& t, const Tables<S>& tables, const store::Piece& piece, base::Random& random, Sums& sums) {
    bool good = true;
    const auto add = [&](const auto& table, auto key, const auto& row) {
      good = good && t.insert(table[piece.partition], key, row) == Outcome::kOk;
    };
    for (std::uint64_t number = piece.keys.from; number < piece.keys.to && good; ++number) {
      const Subscriber subscriber = draw_subscriber(number, random);
      add(tables.subscriber, SubscriberKey{number}, subscriber);
      add(tables.by_number, number_key(subscriber.sub_nbr), NumberOwner{SubscriberKey{number}});
      sums[kLocations] += subscriber.vlr_location;
      sums[kData] += subscriber.bits[0];
      for (const std::uint64_t type : draw_rows(1, kRowTypes, random))
        add(tables.access_info, type_key(number, type), draw_access_info(random));
      for (const std::uint64_t type : draw_rows(1, kRowTypes, random)) {
        const SpecialFacility facility = draw_special_facility(random);
        add(tables.special_facility, type_key(number, type), facility);
        sums[kData] += facility.data_a;
        for (const std::uint64_t start : draw_rows(0, kStarts, random)) {
          add(tables.call_forwarding, forwarding_key(number, type, start), draw_call_forwarding(start, random));
          ++sums[kForwardings];
        }
      }
    }
    return good;
  }

  template <store::Store S, typename T>
  static bool check(T& t, const Tables<S>& tables, std::uint32_t partition, std::uint64_t number, Sums& sums) {
    const auto get = [&](const auto& table, auto key, auto& row) {
      return t.get(table[partition], key, row) == Outcome::kOk;
    };
    Subscriber subscriber;
    NumberOwner owner;
    if (!get(tables.subscriber, SubscriberKey{number}, subscriber) || subscriber.s_id != number + 1 ||
        subscriber.sub_nbr != sub_nbr_of(number) || !get(tables.by_number, number_key(subscriber.sub_nbr), owner) ||
        owner.subscriber != SubscriberKey{number}) {
      return false;
    }
    sums[kLocations] = subscriber.vlr_location;
    sums[kData] = subscriber.bits[0];
    int accesses = 0, facilities = 0;
    for (std::uint64_t type = 0; type < kRowTypes; ++type) {
      AccessInfo access;
      SpecialFacility facility{};
      accesses += get(tables.access_info, type_key(number, type), access) ? 1 : 0;
      const bool has_facility = get(tables.special_facility, type_key(number, type), facility);
      facilities += has_facility ? 1 : 0;
      sums[kData] += facility.data_a;
      for (std::uint64_t start = 0; start < kStarts; ++start) {
        CallForwarding forwarding;
        if (!get(tables.call_forwarding, forwarding_key(number, type, start), forwarding)) continue;
        if (!has_facility) return false;
        ++sums[kForwardings];
      }
    }
    return accesses != 0 && facilities != 0;
  }

  static store::Footprint footprint(const TatpRequest& request, bool) { return {request.partition}; }

  template <store::Store S, typename T>
  static store::Verdict carry_out(T& t, const Tables<S>& tables, const TatpRequest& request, Sums& change) {
    return Transactions<S, T>(t, tables, request).run(change);
  }
};

template <store::Store S>
using TatpWorkload = store::RangeWorkload<S, Tatp>;

}  // namespace granary::bench::tatp
