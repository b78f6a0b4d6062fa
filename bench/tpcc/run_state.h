#pragma once
// The state that the clients of one loaded data set share.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/tpcc/keys.h"
#include "bench/tpcc/parameters.h"
#include "src/base/cache_line.h"

namespace granary::bench::tpcc {

/// Counters of one warehouse's districts.
struct alignas(base::kCacheLine) DistrictCounters {
  /// The number after the last delivered order. The search for the oldest undelivered order begins there, so that it
  /// does not pass deleted entries that are not collected yet. It is raised after the delivery has committed, and
  /// orders enter in ascending numbers, so no undelivered order is ever below it. All clients of the warehouse write
  /// and read it. Relaxed: it is only a hint that no other data depends on, and the search itself is validated.
  std::array<std::atomic<std::uint32_t>, kDistricts> undelivered_from{};
  /// With FastIds, the number of the next order. Clients take it by fetch_add. Relaxed: only uniqueness matters.
  std::array<std::atomic<std::uint32_t>, kDistricts> next_order{};
};

struct RunState {
  explicit RunState(const Parameters& of)
      : parameters(of),
        counters(of.warehouses),
        next_history_origin(of.first_history_origin() + 1) {
    for (DistrictCounters& warehouse : counters) {
      for (auto& next : warehouse.next_order) next.store(of.scale.customers + 1, std::memory_order_relaxed);
    }
    Random random(of.seed, 0x74706363);
    constants = draw_constants(random);
  }

  std::atomic<std::uint32_t>& undelivered_from(std::uint32_t warehouse, std::uint32_t district) {
    return counters[warehouse - 1].undelivered_from[district - 1];
  }
  std::atomic<std::uint32_t>& next_order(std::uint32_t warehouse, std::uint32_t district) {
    return counters[warehouse - 1].next_order[district - 1];
  }

  const Parameters parameters;
  NurandConstants constants;
  std::vector<DistrictCounters> counters;
  /// The next origin of history keys; the node's first one is that of loaded rows. Each client takes one by fetch_add.
  /// Relaxed: only uniqueness matters.
  std::atomic<std::uint32_t> next_history_origin;
};

}  // namespace granary::bench::tpcc
