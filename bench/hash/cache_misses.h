#pragma once
// Counts the misses of the location cache on a skewed load, from empty, and those of a cache that knows all
// popularities.

#include <cstdint>

#include "bench/harness/early_end.h"

namespace granary::bench::hash {

/// The READs per lookup on slide 48 of DrTM: 20 million records, 20 MB of cache, 8 clients, zipf 0.99, from empty.
inline constexpr double kSlideCacheCost = 0.178;

struct CacheLoad {
  std::uint64_t keys = 1'000'000;  ///< the cache has one entry for every 16 of them, as on the slide
  std::uint64_t lookups = 20'000'000;
  double theta = 0.99;
  unsigned clients = 8;  ///< the clients, which take turns
  std::uint64_t seed = 1;
  StopSignals* signals = nullptr;  ///< ends it early
};

struct CacheMisses {
  std::uint64_t lookups = 0;
  std::uint64_t misses = 0;
  /// The misses of a cache of that size that takes the most popular keys, each when it is first asked for, and no
  /// others.
  std::uint64_t oracle = 0;

  double per_lookup() const { return static_cast<double>(misses) / static_cast<double>(lookups); }
  double oracle_per_lookup() const { return static_cast<double>(oracle) / static_cast<double>(lookups); }
  double of_oracle() const { return static_cast<double>(misses) / static_cast<double>(oracle); }
};

/// Counts the misses. If a signal has ended it early, the numbers mean nothing.
CacheMisses count_cache_misses(const CacheLoad& load);

}  // namespace granary::bench::hash
