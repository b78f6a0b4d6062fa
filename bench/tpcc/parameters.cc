#include "bench/tpcc/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "bench/harness/cluster_flags.h"
#include "bench/harness/flag_effects.h"
#include "bench/harness/machine.h"

namespace granary::bench::tpcc {

namespace {

constexpr std::uint64_t kLinesPerOrder = 10;  // on average
constexpr std::uint32_t kTables = 12;         // tables of each partition in a split store

Status usage(std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); }

Status check_split(const Parameters& parameters) {
  const std::uint32_t partitions = parameters.partition_ranges().parts();
  const std::uint64_t tables = std::uint64_t{kTables} * partitions + 1;
  if (tables <= kMaxTables) return {};
  return usage(
      fmt::format("--variant=split: {} partitions need {} tables, at most {} are possible; use fewer --partitions",
                  partitions, tables, kMaxTables));
}

Status check_partitions(const Parameters& parameters, const Settings& settings) {
  if (parameters.partitions == 0) return {};
  if (!settings.variants.has(Variant::kPartitionedStore) && !settings.variants.has(Variant::kSplit))
    return usage("--partitions: only --variant=partitioned-store and --variant=split have partitions");
  if (parameters.partitions > parameters.warehouses)
    return usage(fmt::format("--partitions={}: there are {} warehouses, and each is in one partition",
                             parameters.partitions, parameters.warehouses));
  return {};
}

/// Hekaton's store checks no ranges, and keeps removed rows in its indexes, so it is no place for the other three.
Status check_hekaton(const Parameters& parameters) {
  const bool scans =
      std::any_of(parameters.mix.begin() + 2, parameters.mix.end(), [](double share) { return share > 0; });
  if (!scans) return {};
  return usage(
      "--variant=hekaton: runs new-orders and payments only, as in TicToc's evaluation; use --mix=50,50,0,0,0");
}

/// Tells which shares of order lines, and of payments, concern another warehouse.
struct Remote {
  double lines = 0, payments = 0;
};

Remote remote_from(const FlagValues& flags, std::uint64_t warehouses) {
  if (flags.given("cross_partition")) {
    const double cross = flags.real("cross_partition") / 100;
    return {remote_line_share(cross), cross};
  }
  if (flags.given("cross_warehouse_percent")) {
    const double cross = flags.real("cross_warehouse_percent") / 100;
    return {cross, cross};
  }
  const Parameters as_specified;
  return warehouses == 1 ? Remote() : Remote{as_specified.remote_line, as_specified.remote_payment};
}

Result<Remote> checked_remote(const FlagValues& flags, std::uint64_t warehouses) {
  if (flags.given("cross_partition") && flags.given("cross_warehouse_percent"))
    return usage("--cross_warehouse_percent and --cross_partition exclude each other");
  for (const char* flag : {"cross_partition", "cross_warehouse_percent"}) {
    if (flags.given(flag) && flags.real(flag) > 0 && warehouses == 1)
      return usage(fmt::format("--{}: one warehouse has no others; use --warehouses=2 or more", flag));
  }
  return remote_from(flags, warehouses);
}

}  // namespace

std::vector<Flag> parameter_flags() {
  return {
      integer_flag("warehouses", 0, 0, kMaxWarehouses, "warehouses",
                   "Scale; 0 = as many as workers. In a cluster: of all nodes together, each of which has a range."),
      integer_flag(
          "partitions", 0, 0, kMaxWarehouses, "partitions",
          "With --variant=partitioned-store or split: ranges of warehouses, each with one lock, or with tables "
          "of its own; 0 = one for each warehouse."),
      text_flag("mix", "45,43,4,4,4", "N,P,O,D,S",
                "Percentages of new-order, payment, order-status, delivery and stock-level."),
      real_flag("cross_partition", 0, 0, 100, "percent",
                "Share of new-orders that touch another warehouse, and of payments from another one; unless given, as "
                "specified: 1 % of order lines and 15 % of payments."),
      real_flag(
          "cross_warehouse_percent", 0, 0, 100, "percent",
          "Instead of --cross_partition, as DrTM: share of order lines from another warehouse, and of payments by "
          "another one's customer."),
      switch_flag("new_order_only", false, "New-orders only: --mix=100,0,0,0,0."),
      switch_flag("fast_ids", false, "Order numbers from a counter outside the transaction; as --variant=fast-ids."),
      switch_flag("chopping", false,
                  "Transaction chopping: payment is three transactions, of the customer, the district, and the "
                  "warehouse."),
      choice_flag("stock_level", "snapshot", {"snapshot", "transaction"}, "How stock-level reads."),
      choice_flag("index", "ordered", {"ordered", "mixed"},
                  "mixed: hash tables where nothing is scanned and nothing grows (warehouse, district, customer, item, "
                  "stock), ordered ones elsewhere."),
      real_flag("text_ratio", 1, 1, 100, "",
                "How far texts compress: 1/N of the letters of each are random, the rest is the beginning of a passage "
                "that all share; 1 = random throughout, as specified. Text in natural languages has about 2 with LZ4."),
      integer_flag("items", Scale{}.items, 100, 100'000, "items",
                   "Items, and stocks of a warehouse; fewer than 100000 only for tests."),
      integer_flag("customers", Scale{}.customers, 30, 3'000, "customers",
                   "Customers and first orders of a district; fewer only for tests."),
  };
}

Result<std::array<double, kTypes>> parse_mix(std::string_view text) {
  std::array<double, kTypes> mix{};
  const std::string whole(text);
  double sum = 0;
  for (std::size_t i = 0; i < kTypes; ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mix[i]);
    const auto used = static_cast<std::size_t>(end - text.data());
    const bool last = i + 1 == kTypes;
    if (error != std::errc() || !(mix[i] >= 0) || last != (used == text.size()) || (!last && text[used] != ',')) {
      return usage(fmt::format("--mix={}: expected five percentages, such as 45,43,4,4,4", whole));
    }
    text.remove_prefix(last ? used : used + 1);
    sum += mix[i];
  }
  if (std::abs(sum - 100) > 1e-6)
    return usage(fmt::format("--mix={}: the percentages add up to {}, expected 100", whole, sum));
  return mix;
}

double remote_line_share(double cross) {
  if (cross >= 1) return 1;  // below, all shares near 1 look alike
  const auto touches = [](double share) {
    double sum = 0;
    for (int lines = 5; lines <= 15; ++lines) sum += 1 - std::pow(1 - share, lines);
    return sum / 11;
  };
  double low = 0, high = 1;
  for (int turn = 0; turn < 60; ++turn) {
    const double middle = (low + high) / 2;
    (touches(middle) < cross ? low : high) = middle;
  }
  return high;
}

void set_defaults(FlagValues& flags) {
  const VariantSet variants = variants_named(flags);
  const bool partitioned = variants.has(Variant::kPartitionedStore);
  const std::uint64_t as_many_as_workers = flags.integer("workers") * nodes_of_cluster(flags);
  const std::uint64_t asked = flags.integer("warehouses");
  const std::uint64_t warehouses = asked != 0 ? asked : as_many_as_workers;
  flags.set_unless_given("warehouses", warehouses);
  if (partitioned || variants.has(Variant::kSplit)) flags.set_unless_given("partitions", warehouses);
  if (flags.enabled("new_order_only")) flags.set_unless_given("mix", {.text = "100,0,0,0,0"});
  if (variants.has(Variant::kFastIds)) flags.set_unless_given("fast_ids", {.kind = FlagKind::kSwitch, .on = true});
  const bool two_pc = on_cluster(flags) && flags.text("protocol") == name(Protocol::kTwoPcTcp);
  if (partitioned || two_pc || variants.has(Variant::kNoSnapshots))
    flags.set_unless_given("stock_level", "transaction");
  // If it was not given, it follows from the scale (command.cc).
  flags.set_unless_given("prefault", {.kind = FlagKind::kBytes, .unset = true});
  for (const char* flag : {"cross_partition", "cross_warehouse_percent"})
    flags.set_unless_given(flag, {.kind = FlagKind::kReal, .unset = true});
  const Remote remote = remote_from(flags, warehouses);
  flags.add_figure("remote_lines_percent", remote.lines * 100);
  flags.add_figure("remote_payments_percent", remote.payments * 100);
}

Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags) {
  Parameters parameters;
  parameters.workers = settings.workers;
  parameters.seed = settings.seed;
  parameters.scale = {.items = static_cast<std::uint32_t>(flags.integer("items")),
                      .customers = static_cast<std::uint32_t>(flags.integer("customers"))};
  const auto warehouses = static_cast<std::uint32_t>(flags.integer("warehouses"));
  parameters.share = settings.share;
  parameters.warehouses = warehouses != 0 ? warehouses : settings.workers * settings.share.nodes;
  if (parameters.warehouses < settings.share.nodes)
    return usage(fmt::format("--warehouses={}: {} nodes need one each at least", warehouses, settings.share.nodes));
  parameters.partitions = static_cast<std::uint32_t>(flags.integer("partitions"));
  if (Status partitions = check_partitions(parameters, settings); !partitions.ok()) return partitions;
  const auto mix = parse_mix(flags.text("mix"));
  if (!mix.ok()) return mix.status();
  parameters.mix = *mix;
  if (flags.enabled("new_order_only")) {
    if (flags.given("mix")) return usage("--new_order_only and --mix exclude each other");
    parameters.mix = {100, 0, 0, 0, 0};
  }
  if (settings.variants.has(Variant::kHekaton)) {
    if (Status possible = check_hekaton(parameters); !possible.ok()) return possible;
    parameters.versions_in_place = true;
  }
  const auto remote = checked_remote(flags, parameters.warehouses);
  if (!remote.ok()) return remote.status();
  parameters.remote_line = remote->lines;
  parameters.remote_payment = remote->payments;
  parameters.text_ratio = flags.real("text_ratio");
  parameters.chopping = flags.enabled("chopping");
  parameters.fast_ids = flags.enabled("fast_ids") || settings.variants.has(Variant::kFastIds);
  const bool partitioned = settings.variants.has(Variant::kPartitionedStore);
  // Other nodes reach rows without the owner's processor in hash tables only.
  parameters.mixed_index = flags.text("index") == "mixed" || !settings.share.alone();
  if (flags.given("index") && flags.text("index") == "ordered" && !settings.share.alone())
    return usage("--index=ordered: in a cluster, what nothing scans is in hash tables; leave the flag out");
  if (parameters.mixed_index && partitioned)
    return usage("--index=mixed: the partitioned store has ordered tables only; use --index=ordered");
  const bool has_snapshots = settings.options.snapshots && !partitioned;
  parameters.snapshot_stock_level = flags.text("stock_level") == "snapshot" && has_snapshots;
  if (flags.given("stock_level") && flags.text("stock_level") == "snapshot" && !has_snapshots) {
    return usage("--stock_level=snapshot: this variant has no snapshots; use --stock_level=transaction");
  }
  if (settings.variants.has(Variant::kSplit)) {
    const Status possible = check_split(parameters);
    if (!possible.ok()) return possible;
  }
  parameters.run_seconds = flags.real("seconds") + flags.real("warmup");
  return parameters;
}

std::uint64_t loaded_rows(const Parameters& parameters) {
  const Scale& scale = parameters.scale;
  // Customer: two halves, name, history. Order: itself, by customer, lines (as in orders_of, 5 to 15).
  const std::uint64_t customers = std::uint64_t{kDistricts} * scale.customers;
  const std::uint64_t warehouse = 1 + kDistricts + 2 * std::uint64_t{scale.items} + 4 * customers +
                                  (2 + kLinesPerOrder) * customers + std::uint64_t{kDistricts} * scale.undelivered();
  return scale.items + parameters.own_warehouses() * warehouse;
}

namespace {

/// Returns how many bytes the data have after a run in which each core does so many requests a second.
std::uint64_t bytes_after(const Parameters& parameters, double requests_a_second) {
  constexpr double kBytesARow = 180, kFixed = 32 << 20, kBytesANewOrder = 1300;
  const bool alone = parameters.share.alone();
  const std::size_t cores = allowed_cpus().size();
  const double busy =
      alone ? static_cast<double>(std::min<std::size_t>(parameters.workers, cores)) : parameters.workers;
  const double new_orders = parameters.run_seconds * busy * requests_a_second * parameters.mix[0] / 100;
  // Records that other nodes read in place have their keys and the room of their longest value; and Hekaton's rows have
  // room for several versions.
  const double larger = parameters.versions_in_place ? 1.8 : alone ? 1 : 1.6;
  return static_cast<std::uint64_t>(
      kFixed + larger * (kBytesARow * static_cast<double>(loaded_rows(parameters)) + kBytesANewOrder * new_orders));
}

}  // namespace

std::uint64_t estimated_bytes(const Parameters& parameters) { return bytes_after(parameters, 100'000); }

std::uint64_t bytes_to_touch(const Parameters& parameters) { return bytes_after(parameters, 180'000); }

}  // namespace granary::bench::tpcc
