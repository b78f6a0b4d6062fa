#pragma once
// A workload of transactions on several records over any store, some of which are only read.

#include <array>
#include <span>

#include "bench/lease/requests.h"
#include "bench/store/range_workload.h"

namespace granary::bench::lease {

/// A record that counts its increments twice, so that a torn one shows.
struct Record {
  std::uint64_t count;
  char filler[48];
  std::uint64_t again;

  bool whole() const { return count == again; }
};

/// The Plan of the workload (RangeWorkload). Its sum is that of all counts.
struct Lease {
  using Parameters = lease::Parameters;
  using RequestSource = lease::RequestSource;
  template <store::Store S>
  using Tables = store::Spread<typename S::template Table<RecordKey, Record>>;

  static constexpr const char* kName = "lease";
  static constexpr std::array<std::string_view, 1> kTypeNames{"records"};
  static constexpr std::size_t kSums = 1;
  static constexpr store::RangeWords<kSums> kWords{.size_flag = "--keys",
                                                   .key = "record",
                                                   .broken = "is missing or torn",
                                                   .all_whole = "every record is there and whole",
                                                   .agree = {"increments committed = counts of all records"}};
  static constexpr bool kTellsDistributed = false;

  static std::uint64_t estimated_bytes(const Parameters& parameters) { return lease::estimated_bytes(parameters); }

  template <typename Tables, typename Add>
  static void create(Tables& tables, Add&& add) {
    add(tables, "records");
  }

  template <store::Store S, typename T>
  static bool insert(T& t, const Tables<S>& tables, const store::Piece& piece, base::Random&, store::Sums<kSums>&) {
    for (std::uint64_t key = piece.keys.from; key < piece.keys.to; ++key) {
      if (t.insert(tables[piece.partition], RecordKey{key}, Record{}) != Outcome::kOk) return false;
    }
    return true;
  }

  template <store::Store S, typename T>
  static bool check(T& t, const Tables<S>& tables, std::uint32_t partition, std::uint64_t key,
                    store::Sums<kSums>& counts) {
    Record record;
    if (t.get(tables[partition], RecordKey{key}, record) != Outcome::kOk || !record.whole()) return false;
    counts[0] = record.count;
    return true;
  }

  /// Returns the partitions of a request. A store that is split has few partitions; of others there may be more than a
  /// footprint holds.
  static store::Footprint footprint(const RecordRequest& request, bool split) {
    store::Footprint footprint;
    if (!split) return {0};
    for (const Place& place : request.all()) footprint.add(place.partition);
    return footprint;
  }

  /// Reads all records in one go and increments those that are not only read.
  template <store::Store S, typename T>
  static store::Verdict carry_out(T& t, const Tables<S>& tables, const RecordRequest& request,
                                  store::Sums<kSums>& change) {
    std::array<store::Lookup<typename Tables<S>::Part, RecordKey, Record>, kMostRecords> lookups;
    std::array<Record, kMostRecords> rows;
    for (std::uint32_t i = 0; i < request.count; ++i)
      lookups[i] = {tables[request.records[i].partition], request.records[i].key, &rows[i], false,
                    i >= request.only_read};
    if (t.multi_get(std::span(lookups.data(), request.count)) != Outcome::kOk) return store::Verdict::kRetry;
    for (std::uint32_t i = 0; i < request.count; ++i) {
      if (!lookups[i].found || !rows[i].whole()) return store::Verdict::kRetry;
      if (i < request.only_read) continue;
      rows[i].again = ++rows[i].count;
      if (t.overwrite(lookups[i].table, lookups[i].key, rows[i]) != Outcome::kOk) return store::Verdict::kRetry;
    }
    change[0] = request.count - request.only_read;
    return store::Verdict::kCommit;
  }
};

template <store::Store S>
using LeaseWorkload = store::RangeWorkload<S, Lease>;

}  // namespace granary::bench::lease
