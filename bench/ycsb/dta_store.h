#pragma once
// The YCSB operations as transactions with intervals of timestamps (bench/dta).

#include <cstddef>
#include <cstdint>
#include <optional>

#include <granary/limits.h>

#include "bench/dta/certifier.h"
#include "bench/dta/row.h"
#include "bench/dta/transaction.h"
#include "bench/ycsb/parameters.h"
#include "bench/ycsb/row_store.h"
#include "src/base/waiter.h"

namespace granary::bench::ycsb {

class DtaEngine {
 public:
  using Row = dta::Row;
  using Transaction = dta::Transaction;

  explicit DtaEngine(const Parameters& parameters) : value_bytes_(parameters.value_bytes) {}

  std::optional<std::uint32_t> take_session() { return certifier_.take_session(); }
  void give_session(std::uint32_t session) { certifier_.give_session(session); }
  Transaction transaction(std::uint32_t session) { return {certifier_, session, value_bytes_, waiter_}; }

 private:
  // Clients hold sessions for as long as they run. The loader has its sessions at other times, and the check needs one.
  static_assert(dta::Row::kSessions > kMaxWorkers);

  dta::Certifier certifier_;
  base::ThreadWaiter waiter_;  // all sessions may use it, because it has no state
  const std::size_t value_bytes_;
};

using DtaStore = RowStore<DtaEngine>;

}  // namespace granary::bench::ycsb
