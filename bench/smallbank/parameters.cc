#include "bench/smallbank/parameters.h"

#include <fmt/format.h>

namespace granary::bench::smallbank {

namespace {

constexpr std::uint64_t kMaxCustomers = 1'000'000'000;
constexpr std::uint64_t kMaxPartitions = 1'000;

Status usage(std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); }

}  // namespace

std::vector<Flag> parameter_flags() {
  return {
      integer_flag("accounts", 100'000, 2, kMaxCustomers, "customers",
                   "Customers of each partition, each with a savings and a checking balance."),
      integer_flag("partitions", 1, 1, kMaxPartitions, "partitions",
                   "Ranges of customers; a worker's requests come from one of them. In a cluster: one a node."),
      real_flag("hot_accounts_percent", 4, 0, 100, "percent", "Share of a partition's customers that are hot."),
      real_flag("hot_requests_percent", 90, 0, 100, "percent", "Share of choices that fall on hot customers."),
      real_flag("distributed_percent", 1, 0, 100, "percent",
                "Share of transactions with two customers whose second one is in another partition."),
      choice_flag("index", "hash", {"hash", "ordered"}, "The index. The partitioned store has ordered ones only."),
  };
}

Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags) {
  Parameters parameters;
  parameters.share = settings.share;
  parameters.seed = settings.seed;
  parameters.partitions = static_cast<std::uint32_t>(flags.integer("partitions"));
  if (!settings.share.alone()) {
    if (flags.given("partitions")) return usage("--partitions: in a cluster there is one a node");
    parameters.partitions = settings.share.nodes;
  }
  parameters.customers = flags.integer("accounts") * parameters.partitions;
  parameters.hot_customers = flags.real("hot_accounts_percent") / 100;
  parameters.hot_requests = flags.real("hot_requests_percent") / 100;
  parameters.distributed = flags.real("distributed_percent") / 100;
  if (flags.given("distributed_percent") && parameters.distributed > 0 && parameters.partitions == 1)
    return usage("--distributed_percent: one partition has no others; use --partitions=2 or more");
  const bool partitioned = settings.variants.has(Variant::kPartitionedStore);
  parameters.hash = flags.text("index") == "hash" && !partitioned;
  if (flags.given("index") && flags.text("index") == "hash" && partitioned)
    return usage("--index=hash: the partitioned store has ordered tables only");
  if (settings.variants.has(Variant::kSplit) && parameters.partitions * 3 > kMaxTables) {
    return usage(fmt::format("--variant=split: {} partitions need {} tables, at most {} are possible",
                             parameters.partitions, parameters.partitions * 3, kMaxTables));
  }
  return parameters;
}

std::uint64_t estimated_bytes(const Parameters& parameters) {
  constexpr std::uint64_t kBytesACustomer = 3 * 112, kFixed = 16 << 20;  // three records with their index entries
  return kFixed + parameters.customers / parameters.share.nodes * kBytesACustomer;
}

}  // namespace granary::bench::smallbank
