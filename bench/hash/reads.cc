#include "bench/hash/reads.h"

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/random.h"

namespace granary::bench::hash {
namespace {

/// Returns a random order of the keys: the key at i has popularity rank i.
std::vector<std::uint64_t> ranked_keys(std::uint64_t keys, std::uint64_t seed) {
  std::vector<std::uint64_t> ranks(keys);
  std::iota(ranks.begin(), ranks.end(), 0);
  base::Random random(seed);
  for (std::uint64_t i = keys; i > 1; --i) std::swap(ranks[i - 1], ranks[random.below(i)]);
  return ranks;
}

/// Returns the error that a key found no place. Cuckoo hashing with three places can fill 92 % of many slots; of few
/// slots the share varies.
Status no_place(const TableKind& kind, const Filling& filling, std::uint64_t key, std::uint64_t keys) {
  return {
      StatusCode::kUnavailable,
      fmt::format("{} with --slots={} has no place for key {} of {}: few slots are filled unevenly; use 4096 or more",
                  kind.name, filling.slots, key + 1, keys)};
}

}  // namespace

Result<double> reads_per_lookup(const TableKind& kind, const Filling& filling) {
  const auto keys = static_cast<std::uint64_t>(static_cast<double>(filling.slots) * filling.occupancy);
  const EarlyEnd end(filling.signals);
  double reads = 0, lookups = 0;
  for (std::uint64_t number = 0; number < filling.tables && !end.requested(); ++number) {
    const std::uint64_t seed = filling.seed * 1000 + number;
    const std::unique_ptr<CountedTable> table = kind.make(filling.slots, seed);
    for (std::uint64_t key = 0; key < keys && !end.requested_at(key); ++key) {
      if (!table->insert(key)) return no_place(kind, filling, key, keys);
    }
    std::uint64_t rank = 0;
    if (end.requested()) break;
    for (const std::uint64_t key : ranked_keys(keys, seed)) {
      if (end.requested_at(rank)) break;
      const double popularity = 1 / std::pow(static_cast<double>(++rank), filling.theta);
      reads += popularity * table->reads(key);
      lookups += popularity;
    }
  }
  return reads / lookups;
}

}  // namespace granary::bench::hash
