#pragma once
// A small TPC-C for tests: a few hundred items and customers, short epochs.

#include <gtest/gtest.h>

#include <memory>

#include "bench/hekaton/store.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"
#include "bench/tpcc/workload.h"

namespace granary::bench::tpcc {

class NoProgress final : public Progress {
 public:
  void add(std::uint64_t) override {}
};

inline Parameters small_parameters(std::uint32_t warehouses, std::uint32_t workers) {
  Parameters parameters;
  parameters.scale = {.items = 500, .customers = 120};
  parameters.warehouses = warehouses;
  parameters.workers = workers;
  return parameters;
}

inline Options small_options() {
  Options options;
  options.epoch_ms = 2;
  options.snapshot_epochs = 3;
  options.max_open_epochs = 1000;  // a descheduled thread is no error here
  options.memory_limit_bytes = std::uint64_t{1} << 30;
  options.huge_pages = HugePages::kOff;
  return options;
}

/// Opens the kind of store that `S` is.
template <store::Store S>
std::unique_ptr<TpccWorkload<S>> small_workload(const Parameters& parameters, bool split = false) {
  const std::uint32_t partitions = parameters.partition_ranges().parts();
  auto workload = std::make_unique<TpccWorkload<S>>(parameters, [=]() -> Result<std::unique_ptr<S>> {
    if constexpr (std::is_same_v<S, store::PartitionedStore>) {
      return S::open(small_options(), partitions);
    } else if constexpr (std::is_same_v<S, hekaton::HekatonStore>) {
      return S::open(small_options());
    } else {
      return S::open(small_options(), split);
    }
  });
  NoProgress progress;
  const Status loaded = workload->load(2, progress);
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return workload;
}

inline void expect_consistent(Workload& workload) {
  const std::vector<Finding> findings = workload.verify();
  EXPECT_GE(findings.size(), 12u);
  for (const Finding& finding : findings) EXPECT_TRUE(finding.holds) << finding.condition << ": " << finding.detail;
}

}  // namespace granary::bench::tpcc
