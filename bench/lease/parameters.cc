#include "bench/lease/parameters.h"

#include <cmath>

#include <fmt/format.h>

#include "bench/store/footprint.h"
#include "bench/store/range_flags.h"

namespace granary::bench::lease {

namespace {

Status usage(std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); }

}  // namespace

std::vector<Flag> parameter_flags() {
  constexpr std::uint64_t kFewestKeys = 100, kMostKeys = 1'000'000'000;
  return {
      integer_flag("keys", 100'000, kFewestKeys, kMostKeys, "keys", "Records of each partition."),
      store::partitions_flag("Ranges of keys; a worker's transactions begin in one of them. In a cluster: one a node."),
      integer_flag("records", 10, 1, kMostRecords, "records", "Records of a transaction."),
      real_flag("read_percent", 50, 0, 100, "percent", "Share of them that are read only; the others are incremented."),
      integer_flag("hotspot", 0, 0, 1'000'000, "keys",
                   "Hot records of all partitions together; if any, each transaction reads one of them."),
      real_flag("distributed_percent", 10, 0, 100, "percent",
                "Share of the other records that are in another partition."),
      store::index_flag(),
  };
}

Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags) {
  Parameters parameters;
  const Result<store::RangeParameters> range = store::range_parameters_from(settings, flags, "keys", 1);
  if (!range.ok()) return range.status();
  parameters.keys = range->keys;
  parameters.partitions = range->partitions;
  parameters.distributed = range->distributed;
  parameters.hash = range->hash;
  parameters.share = range->share;
  parameters.seed = range->seed;
  parameters.records = static_cast<std::uint32_t>(flags.integer("records"));
  parameters.only_read = static_cast<std::uint32_t>(std::lround(parameters.records * flags.real("read_percent") / 100));
  parameters.hot_keys = flags.integer("hotspot");
  if (parameters.hot_keys > flags.integer("keys"))
    return usage(fmt::format("--hotspot={}: more than a partition's --keys", parameters.hot_keys));
  if (parameters.hot_keys != 0 && parameters.only_read == 0)
    return usage("--hotspot: hot records are read only, and --read_percent leaves none to be read");
  if (settings.variants.has(Variant::kPartitionedStore) && parameters.partitions > store::Footprint::kMost) {
    return usage(fmt::format(
        "--partitions={}: transactions may touch all of them, and the partitioned store takes at most {} at once",
        parameters.partitions, store::Footprint::kMost));
  }
  return parameters;
}

std::uint64_t estimated_bytes(const Parameters& parameters) {
  constexpr std::uint64_t kBytesARecord = 144, kFixed = 16 << 20;
  return kFixed + parameters.keys / parameters.share.nodes * kBytesARecord;
}

}  // namespace granary::bench::lease
