#include "bench/store/range_flags.h"

#include <fmt/format.h>

#include "bench/harness/cluster_flags.h"
#include "bench/harness/flag_effects.h"

namespace granary::bench::store {

namespace {

Status usage(std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); }

}  // namespace

Flag partitions_flag(std::string help) {
  constexpr std::uint64_t kMostPartitions = 1'000;
  return integer_flag("partitions", 1, 1, kMostPartitions, "partitions", std::move(help));
}

Flag index_flag() {
  return choice_flag("index", "hash", {"hash", "ordered"}, "The index. The partitioned store has ordered ones only.");
}

void set_range_defaults(FlagValues& flags) {
  if (on_cluster(flags)) flags.set_unless_given("partitions", nodes_of_cluster(flags));
  if (variants_named(flags).has(Variant::kPartitionedStore)) flags.set_unless_given("index", "ordered");
  if (flags.integer("partitions") == 1) flags.set_unless_given("distributed_percent", {.kind = FlagKind::kReal});
}

Result<RangeParameters> range_parameters_from(const Settings& settings, const FlagValues& flags, const char* keys_flag,
                                              std::uint32_t tables) {
  RangeParameters found;
  found.share = settings.share;
  found.seed = settings.seed;
  found.partitions = static_cast<std::uint32_t>(flags.integer("partitions"));
  if (!settings.share.alone()) {
    if (flags.given("partitions")) return usage("--partitions: in a cluster there is one a node");
    found.partitions = settings.share.nodes;
  }
  found.keys = flags.integer(keys_flag) * found.partitions;
  found.distributed = flags.real("distributed_percent") / 100;
  const bool partitioned = settings.variants.has(Variant::kPartitionedStore);
  found.hash = flags.text("index") == "hash" && !partitioned;
  if (flags.given("index") && flags.text("index") == "hash" && partitioned)
    return usage("--index=hash: the partitioned store has ordered tables only");
  if (settings.variants.has(Variant::kSplit) && found.partitions * tables > kMaxTables) {
    return usage(fmt::format("--variant=split: {} partitions need {} tables, at most {} are possible", found.partitions,
                             found.partitions * tables, kMaxTables));
  }
  return found;
}

Status check_distributed(const FlagValues& flags, const RangeParameters& parameters) {
  if (!flags.given("distributed_percent") || parameters.distributed == 0 || parameters.partitions != 1) return {};
  return usage("--distributed_percent: one partition has no others; use --partitions=2 or more");
}

}  // namespace granary::bench::store
