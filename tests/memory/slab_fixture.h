#pragma once
// A slab pool in a region of its own, for the tests of slabs.

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "src/memory/slab.h"
#include "tests/support/units.h"

namespace granary::memory {

class Slab : public testing::Test {
 protected:
  explicit Slab(SlabOptions options = {})
      : region_(Region::map({.reserve_bytes = 64 * tests::kMiB, .huge_pages = HugePages::kOff}).value()),
        pool_(*region_, options) {}

  static std::int64_t in_use(const SlabCache& cache) {
    return cache.bytes_in_use(SlabKind::kRecord) + cache.bytes_in_use(SlabKind::kNode);
  }

  std::unique_ptr<Region> region_;
  SlabPool pool_;
};

class ReservingSlab : public Slab {
 protected:
  ReservingSlab() : Slab({.limit_bytes = 2 * tests::kMiB, .reserve_bytes = tests::kMiB}) {}
};

}  // namespace granary::memory
