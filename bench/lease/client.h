#pragma once
// One worker's transactions on a store.

#include <atomic>
#include <memory>

#include "bench/harness/workload.h"
#include "bench/lease/requests.h"
#include "bench/store/spread.h"
#include "bench/store/store.h"

namespace granary::bench::lease {

/// Counts its increments twice, so that a torn one shows.
struct Record {
  std::uint64_t count;
  char filler[48];
  std::uint64_t again;

  bool whole() const { return count == again; }
};

template <store::Store S>
using Table = typename S::template Table<RecordKey, Record>;
/// By partition.
template <store::Store S>
using Tables = store::Spread<Table<S>>;

/// Reads all records in one go and increments those that are not only read.
template <store::Store S, typename T>
store::Verdict read_and_increment(T& transaction, const Tables<S>& tables, const RecordRequest& request) {
  std::array<store::Lookup<Table<S>, RecordKey, Record>, kMostRecords> lookups;
  std::array<Record, kMostRecords> rows;
  for (std::uint32_t i = 0; i < request.count; ++i)
    lookups[i] = {tables[request.records[i].partition], request.records[i].key, &rows[i], false,
                  i >= request.only_read};
  if (transaction.multi_get(std::span(lookups.data(), request.count)) != Outcome::kOk) return store::Verdict::kRetry;
  for (std::uint32_t i = 0; i < request.count; ++i) {
    if (!lookups[i].found || !rows[i].whole()) return store::Verdict::kRetry;
    if (i < request.only_read) continue;
    rows[i].again = ++rows[i].count;
    if (transaction.overwrite(lookups[i].table, lookups[i].key, rows[i]) != Outcome::kOk) return store::Verdict::kRetry;
  }
  return store::Verdict::kCommit;
}

template <store::Store S>
class LeaseClient final : public Client {
 public:
  /// `increments` gets the number of committed ones at the end.
  LeaseClient(std::unique_ptr<typename S::Session> session, const Tables<S>& tables, const Parameters& parameters,
              std::uint32_t worker, std::atomic<std::uint64_t>& increments)
      : session_(std::move(session)),
        tables_(tables),
        source_(parameters, worker),
        increments_(increments) {}

  ~LeaseClient() override { increments_.fetch_add(incremented_, std::memory_order_relaxed); }

  Request run_one() override {
    const RecordRequest request = source_.next();
    store::Footprint footprint;
    if (tables_.parts() > 1) {  // few partitions, as a footprint holds not many
      for (const Place& place : request.all()) footprint.add(place.partition);
    } else {
      footprint.add(0);
    }
    const Ending ending =
        session_->run(footprint, aborts(0), [&](auto& t) { return read_and_increment<S>(t, tables_, request); });
    if (ending == Ending::kCommitted) incremented_ += request.count - request.only_read;
    return {0, ending};
  }

  void idle() override { session_->collect(); }

 private:
  std::unique_ptr<typename S::Session> session_;
  const Tables<S>& tables_;
  RequestSource source_;
  std::atomic<std::uint64_t>& increments_;  // added to once by each client at its end, read after all; relaxed
  std::uint64_t incremented_ = 0;
};

}  // namespace granary::bench::lease
