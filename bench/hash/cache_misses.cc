#include "bench/hash/cache_misses.h"

#include <vector>

#include "bench/harness/zipf.h"
#include "kvstore/remote/location_cache.h"
#include "src/base/random.h"

namespace granary::bench::hash {
namespace {

constexpr std::uint64_t kKeysOfEntry = 16;

}  // namespace

CacheMisses count_cache_misses(const CacheLoad& load) {
  using kvstore::remote::LocationCache;
  LocationCache cache(load.keys / kKeysOfEntry * LocationCache::kEntryBytes);
  std::vector<kvstore::remote::LocationCacheCounters> counters(load.clients);
  std::vector<base::Random> random;
  for (unsigned client = 0; client < load.clients; ++client) random.emplace_back(load.seed, client);
  const Zipf popularity(load.keys, load.theta);
  std::vector<bool> oracle_has(cache.entries());
  CacheMisses counted{.lookups = load.lookups};
  const EarlyEnd end(load.signals);
  for (std::uint64_t lookup = 0; lookup < load.lookups && !end.requested_at(lookup); ++lookup) {
    const std::uint64_t client = lookup % load.clients;
    const std::uint64_t key = popularity.next(random[client]);
    if (!cache.find(key, counters[client])) {
      ++counted.misses;
      cache.remember(key, kvstore::remote::Location(key * kvstore::remote::LocationCache::kEntryBytes, 0),
                     counters[client]);
    }
    const bool popular = key < oracle_has.size();
    if (!popular || !oracle_has[key]) ++counted.oracle;
    if (popular) oracle_has[key] = true;
  }
  return counted;
}

}  // namespace granary::bench::hash
