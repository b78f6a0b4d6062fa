#pragma once
// Lookups of keys in another node's hash table: how many READs they take, and how fast they are beside plain READs of
// as many bytes at the same places, and beside lookups in the tables of other systems.

#include <string>
#include <vector>

#include "bench/harness/early_end.h"
#include "bench/remote/owned_table.h"
#include "cluster_config/provider.h"

namespace granary::bench::remote {

struct Load {
  cluster_config::Provider provider = cluster_config::Provider::kShm;
  Data data;
  std::uint64_t lookups = 0;         ///< for each figure
  std::uint64_t location_cache = 0;  ///< bytes
  double theta = 0;
  std::uint64_t seed = 1;
  std::string run_directory;       ///< where nodes of one host meet
  StopSignals* signals = nullptr;  ///< end it early, with the figures that are complete
};

struct LookupFigure {
  const char* what = "";
  double nanoseconds = 0;   ///< mean of one, 16 at a time
  double reads = 0;         ///< mean of one, the record's among them
  double alone_p50_ns = 0;  ///< of one at a time; 0 if not measured
  double alone_p99_ns = 0;
  std::uint64_t hits = 0;  ///< of the cache
  std::uint64_t misses = 0;
  std::uint64_t stale = 0;
  std::uint64_t replacements = 0;
  std::uint64_t wrong = 0;  ///< lookups that did not bring the value
};

/// Plain READs; lookups without a cache, with a cache from empty, and once more with that cache. If Data::peers, those
/// in Pilaf's table and in FaRM's, with the places of records and with the values in its slots.
Result<std::vector<LookupFigure>> measure(const Load& load);

}  // namespace granary::bench::remote
