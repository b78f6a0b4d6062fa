#pragma once
// The YCSB operations as Hekaton's transactions (bench/hekaton).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/hekaton/row.h"
#include "bench/hekaton/transaction.h"
#include "bench/ycsb/parameters.h"
#include "bench/ycsb/row_store.h"

namespace granary::bench::ycsb {

class HekatonEngine {
 public:
  using Row = hekaton::Row;
  using Transaction = hekaton::Transaction;

  explicit HekatonEngine(const Parameters& parameters)
      : shared_(parameters.timestamps),
        isolation_(parameters.isolation) {}

  /// Returns a session's number. It comes again after kSessions calls, when its former session is long over.
  std::optional<std::uint32_t> take_session() {
    return sessions_.fetch_add(1, std::memory_order_relaxed) % hekaton::Shared::kSessions;
  }
  void give_session(std::uint32_t) {}
  std::vector<ExtraFigure> extra_figures() const { return shared_.figures(); }
  Transaction transaction(std::uint32_t session) { return {shared_, session, isolation_}; }

 private:
  hekaton::Shared shared_;
  const Isolation isolation_;
  // How many sessions there have been. Threads that open a session add to it and read it by one operation. Relaxed: the
  // numbers must differ, and order nothing else.
  std::atomic<std::uint32_t> sessions_{0};
};

using HekatonStore = RowStore<HekatonEngine>;

}  // namespace granary::bench::ycsb
