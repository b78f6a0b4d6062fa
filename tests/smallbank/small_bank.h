#pragma once
// A small bank for tests, on any store.

#include <gtest/gtest.h>

#include <memory>

#include "bench/smallbank/workload.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"

namespace granary::bench::smallbank {

class NoProgress final : public Progress {
 public:
  void add(std::uint64_t) override {}
};

inline Parameters small_parameters(std::uint32_t partitions) {
  Parameters parameters;
  parameters.customers = 100 * partitions;
  parameters.partitions = partitions;
  parameters.distributed = 0.3;
  return parameters;
}

template <store::Store S>
std::unique_ptr<BankWorkload<S>> small_bank(const Parameters& parameters, bool split = false) {
  Options options;
  options.epoch_ms = 2;
  options.max_open_epochs = 1000;  // a descheduled thread is no error here
  options.memory_limit_bytes = std::uint64_t{1} << 28;
  options.huge_pages = HugePages::kOff;
  auto workload = std::make_unique<BankWorkload<S>>(parameters, [=]() -> Result<std::unique_ptr<S>> {
    if constexpr (std::is_same_v<S, store::PartitionedStore>) {
      return S::open(options, parameters.partitions);
    } else {
      return S::open(options, split);
    }
  });
  NoProgress progress;
  const Status loaded = workload->load(2, progress);
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return workload;
}

}  // namespace granary::bench::smallbank
