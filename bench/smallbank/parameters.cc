#include "bench/smallbank/parameters.h"

#include "bench/store/range_flags.h"

namespace granary::bench::smallbank {

namespace {

constexpr std::uint64_t kMaxCustomers = 1'000'000'000;
constexpr std::uint32_t kTables = 3;

}  // namespace

std::vector<Flag> parameter_flags() {
  return {
      integer_flag("accounts", 100'000, 2, kMaxCustomers, "customers",
                   "Customers of each partition, each with a savings and a checking balance."),
      store::partitions_flag(
          "Ranges of customers; a worker's requests come from one of them. In a cluster: one a node."),
      real_flag("hot_accounts_percent", 4, 0, 100, "percent", "Share of a partition's customers that are hot."),
      real_flag("hot_requests_percent", 90, 0, 100, "percent", "Share of choices that fall on hot customers."),
      real_flag("distributed_percent", 1, 0, 100, "percent",
                "Share of transactions with two customers whose second one is in another partition."),
      store::index_flag(),
  };
}

Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags) {
  Parameters parameters;
  const Result<store::RangeParameters> range = store::range_parameters_from(settings, flags, "accounts", kTables);
  if (!range.ok()) return range.status();
  if (Status possible = store::check_distributed(flags, *range); !possible.ok()) return possible;
  parameters.customers = range->keys;
  parameters.partitions = range->partitions;
  parameters.distributed = range->distributed;
  parameters.hash = range->hash;
  parameters.share = range->share;
  parameters.seed = range->seed;
  parameters.hot_customers = flags.real("hot_accounts_percent") / 100;
  parameters.hot_requests = flags.real("hot_requests_percent") / 100;
  return parameters;
}

std::uint64_t estimated_bytes(const Parameters& parameters) {
  constexpr std::uint64_t kBytesACustomer = 3 * 112, kFixed = 16 << 20;  // three records with their index entries
  return kFixed + parameters.customers / parameters.share.nodes * kBytesACustomer;
}

}  // namespace granary::bench::smallbank
