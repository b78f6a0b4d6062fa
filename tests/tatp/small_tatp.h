#pragma once
// A few subscribers for tests, on any store.

#include <memory>

#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"
#include "bench/tatp/workload.h"
#include "tests/support/driven_workload.h"

namespace granary::bench::tatp {

inline store::RangeParameters few_subscribers(std::uint32_t partitions, std::uint64_t each = 100) {
  return {.keys = each * partitions, .partitions = partitions, .distributed = 0.3};
}

template <store::Store S>
std::unique_ptr<TatpWorkload<S>> small_tatp(const store::RangeParameters& parameters, bool split = false) {
  auto workload = std::make_unique<TatpWorkload<S>>(parameters, [=]() -> Result<std::unique_ptr<S>> {
    if constexpr (std::is_same_v<S, store::PartitionedStore>) {
      return S::open(small_database_options(), parameters.partitions);
    } else {
      return S::open(small_database_options(), split);
    }
  });
  load_workload(*workload, 2);
  return workload;
}

}  // namespace granary::bench::tatp
