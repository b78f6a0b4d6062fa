#pragma once
// Measures lookups of keys in another node's hash table: how many READs they take, and how fast they are compared with
// plain READs of as many bytes at the same places, and with lookups in the tables of other systems.

#include <string>
#include <vector>

#include "bench/harness/early_end.h"
#include "bench/remote/owned_table.h"
#include "cluster_config/provider.h"

namespace granary::bench::remote {

struct Load {
  cluster_config::Provider provider = cluster_config::Provider::kShm;
  Data data;
  std::uint64_t lookups = 0;         ///< lookups for each figure
  std::uint64_t location_cache = 0;  ///< size of the cache in bytes
  double theta = 0;
  std::uint64_t seed = 1;
  std::string run_directory;       ///< the directory in which nodes of one host find each other
  StopSignals* signals = nullptr;  ///< signals that end it early, with the figures that are complete
};

struct LookupFigure {
  const char* what = "";
  double nanoseconds = 0;   ///< mean time of a lookup, with 16 at a time
  double reads = 0;         ///< mean number of READs of a lookup, including that of the record
  double alone_p50_ns = 0;  ///< median with one lookup at a time; 0 if not measured
  double alone_p99_ns = 0;
  std::uint64_t hits = 0;  ///< hits of the cache
  std::uint64_t misses = 0;
  std::uint64_t stale = 0;
  std::uint64_t replacements = 0;
  std::uint64_t wrong = 0;  ///< lookups that did not bring the value
};

/// Measures plain READs, and lookups without a cache, with a cache that is empty at first, and once more with that
/// cache. If Data::peers, it also measures lookups in Pilaf's table and in FaRM's, with the places of records and with
/// the values in its slots.
Result<std::vector<LookupFigure>> measure(const Load& load);

}  // namespace granary::bench::remote
