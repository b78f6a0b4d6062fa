// `granary bench ycsb` and `granary bench kv`.

#include <optional>
#include <string>

#include "bench/harness/registry.h"
#include "bench/ycsb/bare_store.h"
#include "bench/ycsb/cluster_store.h"
#include "bench/ycsb/dta_store.h"
#include "bench/ycsb/engine_store.h"
#include "bench/ycsb/hekaton_store.h"
#include "bench/ycsb/workload.h"

namespace granary::bench::ycsb {

namespace {

// One of so many requests is timed: they are so short that reading the clock for each would show.
constexpr std::uint64_t kLatencySample = 16;

Status check_multi_get(const Parameters& parameters, bool on_transactions) {
  if (!parameters.multi_get || (on_transactions && parameters.ops > 1)) return {};
  return {StatusCode::kInvalidArgument,
          on_transactions ? "--multi_get: a transaction of one operation reads one record; add --ops"
                          : "--multi_get: only Granary's transactions read several records in one go"};
}

/// Checks --parts. A field needs room for a counter at its beginning and one at its end, which show torn fields.
Status check_parts(const Parameters& parameters, bool on_transactions) {
  constexpr std::uint32_t kLeastBytes = 16;
  if (!parameters.parts) return {};
  if (!on_transactions)
    return {StatusCode::kInvalidArgument, "--parts: only Granary's transactions read and write parts of values"};
  if (parameters.fields == 1 || parameters.field_bytes() < kLeastBytes) {
    return {StatusCode::kInvalidArgument,
            fmt::format(
                "--parts: with --fields={} and --value_bytes={} there are no fields of at least {} bytes in a value",
                parameters.fields, parameters.value_bytes, kLeastBytes)};
  }
  return {};
}

/// Checks transactions of several operations, and records of several fields.
Status check_steps(const Parameters& parameters) {
  if (!parameters.in_steps()) return {};
  if (parameters.value_bytes % parameters.fields != 0) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--fields={}: a value of {} bytes is not divided into so many fields of equal size",
                        parameters.fields, parameters.value_bytes)};
  }
  if (parameters.keys < std::uint64_t{kKeysPerOp} * parameters.ops) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--keys={}: transactions of {} operations on distinct keys need at least {}", parameters.keys,
                        parameters.ops, kKeysPerOp * parameters.ops)};
  }
  return {};
}

Status check_baselines(const Settings& settings, const FlagValues& flags) {
  if (flags.given("timestamps") && !settings.variants.has(Variant::kHekaton)) {
    return {StatusCode::kInvalidArgument,
            "--timestamps: only --variant=hekaton takes timestamps from one place; add it, or leave the flag out"};
  }
  if (settings.variants.has(Variant::kDtaBound) && !(settings.share.alone() && settings.options.protocol == "tictoc"))
    return {StatusCode::kInvalidArgument,
            "--variant=dta-bound: it is made of tictoc on one node; add --protocol=tictoc"};
  return {};
}

/// Returns the variant that is an engine of its own, with rows in records of the bare index, if one was chosen.
std::optional<Variant> row_engine(const Settings& settings) {
  for (const Variant variant : {Variant::kHekaton, Variant::kDta}) {
    if (settings.variants.has(variant)) return variant;
  }
  return std::nullopt;
}

/// Returns what to use instead of shares that are impossible.
std::string_view others(const FlagValues& flags) { return flags.given("shares") ? "other shares" : "another mix"; }

/// Checks that such an engine can run the workload.
Status check_row_engine(Variant variant, const FlagValues& flags, const Parameters& parameters) {
  const std::string flag = fmt::format("--variant={}", name(variant));
  if (variant == Variant::kDta && parameters.isolation != Isolation::kSerializable) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--isolation={}: with {} every transaction is serializable; leave the flag out",
                        flags.text("isolation"), flag)};
  }
  if (parameters.stored_bytes > kMaxValueBytes) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--value_bytes={}: {} would keep {} bytes for each value, of at most {}",
                        parameters.value_bytes, flag, parameters.stored_bytes, kMaxValueBytes)};
  }
  if (parameters.shares.has(Operation::kInsert) || parameters.shares.has(Operation::kScan)) {
    return {StatusCode::kInvalidArgument,
            fmt::format("{}: {} inserts or scans, which it cannot; use {}", flag, shares_name(flags), others(flags))};
  }
  return {};
}

/// Checks that a node of a cluster can run the shares.
Status check_on_nodes(const FlagValues& flags, const Parameters& parameters) {
  const std::string given = flags.given("shares") ? shares_name(flags) : "--mix=" + flags.text("mix");
  const std::string_view use = flags.given("shares") ? "shares" : "a mix";
  if (parameters.shares.has(Operation::kInsert)) {
    return {
        StatusCode::kInvalidArgument,
        fmt::format("{}: keys of nodes are ranges of fixed size; in a cluster, use {} without inserts", given, use)};
  }
  if (parameters.shares.has(Operation::kScan)) {
    return {StatusCode::kInvalidArgument,
            fmt::format("{}: in a cluster, keys are in hash tables, which cannot be scanned; use {} without scans",
                        given, use)};
  }
  return {};
}

template <typename Store>
Result<std::unique_ptr<Workload>> make_on_rows(const std::string& name, Variant variant, const Settings& settings,
                                               const FlagValues& flags, Parameters parameters) {
  parameters.stored_bytes = Store::Row::bytes_for(parameters.value_bytes);
  if (Status fits = check_row_engine(variant, flags, parameters); !fits.ok()) return fits;
  return std::unique_ptr<Workload>(std::make_unique<YcsbWorkload<Store>>(name, settings, parameters));
}

Result<std::unique_ptr<Workload>> make(const std::string& name, bool bare, const Settings& settings,
                                       const FlagValues& flags) {
  Result<Parameters> parsed = parameters_from(settings, flags);
  if (!parsed.ok()) return parsed.status();
  Parameters& parameters = *parsed;
  const std::optional<Variant> engine = row_engine(settings);
  if (Status baselines = check_baselines(settings, flags); !baselines.ok()) return baselines;
  if (settings.share.nodes == 1 && parameters.distributed > 0)
    return Status(StatusCode::kInvalidArgument,
                  "--distributed_percent: there are no other nodes; see 'granary cluster'");
  if (parameters.isolation != Isolation::kSerializable && (bare || !settings.share.alone())) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--isolation={}: {}; leave the flag out", flags.text("isolation"),
                              bare ? "the bare index has no transactions"
                                   : "on a node of a cluster every transaction is serializable"));
  }
  if (!settings.share.alone()) {
    if (Status on_nodes = check_on_nodes(flags, parameters); !on_nodes.ok()) return on_nodes;
  }
  if (Status steps = check_steps(parameters); !steps.ok()) return steps;
  if (Status parts = check_parts(parameters, !bare && !engine); !parts.ok()) return parts;
  if (Status gets = check_multi_get(parameters, !bare && !engine); !gets.ok()) return gets;
  if (flags.given("scan_length") && !parameters.shares.has(Operation::kScan)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--scan_length: {} does not scan; use {}", shares_name(flags),
                              flags.given("shares") ? "a share of scan" : "--mix=e"));
  }
  if (engine == Variant::kHekaton) return make_on_rows<HekatonStore>(name, *engine, settings, flags, parameters);
  if (engine == Variant::kDta) return make_on_rows<DtaStore>(name, *engine, settings, flags, parameters);
  if (!settings.share.alone()) {
    if (flags.given("index") && !parameters.hash) {
      return Status(StatusCode::kInvalidArgument,
                    "--index=ordered: in a cluster, keys are in hash tables; leave the flag out");
    }
    parameters.hash = true;  // other nodes reach hash tables without the owner's processor
    return std::unique_ptr<Workload>(std::make_unique<YcsbWorkload<ClusterStore>>(name, settings, parameters));
  }
  if (parameters.hash && parameters.shares.has(Operation::kScan)) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("--index=hash: {} scans, which a hash index cannot; use --index=ordered", shares_name(flags)));
  }
  if (bare) return std::unique_ptr<Workload>(std::make_unique<YcsbWorkload<BareStore>>(name, settings, parameters));
  return std::unique_ptr<Workload>(std::make_unique<YcsbWorkload<EngineStore>>(name, settings, parameters));
}

}  // namespace

const BenchCommand& ycsb_command() {
  static const BenchCommand command{
      .name = "ycsb",
      .summary = "reads, writes and scans of single records by key",
      .description =
          "YCSB. The default is the Silo paper's variant: one operation a transaction, 80 % reads, 20 % "
          "read-modify-writes of 100-byte values, uniform over the keys. The TicToc paper's has 16 operations a "
          "transaction.",
      .examples = {"--workers=2 --seconds=30", "--mix=a --theta=0.9 --verify", "--keys=10000000 --load_order=random",
                   "--mix=medium --workers=8 --protocol=tictoc",
                   "--shares=read=50,update=30,rmw=10,insert=5,scan=5 --ops=4 --verify",
                   "--variant=key-value   (the same work on the bare index)"},
      .flags = parameter_flags(),
      .variants = VariantSet::engine().with({Variant::kKeyValue, Variant::kDta, Variant::kDtaBound, Variant::kHekaton}),
      .breakdown = true,
      .batches = true,
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl},
      .latency_sample = kLatencySample,
      .index_on_nodes = "hash",
      .set_defaults = set_defaults,
      .make =
          [](const Settings& settings, const FlagValues& flags) {
            return make("ycsb", settings.variants.has(Variant::kKeyValue), settings, flags);
          },
  };
  return command;
}

const BenchCommand& kv_command() {
  static const BenchCommand command{
      .name = "kv",
      .summary = "the work of ycsb on the bare index, without transactions",
      .description =
          "What the index and the memory alone can do: the baseline of the Silo paper's section 5.2. Reads copy the "
          "same bytes, atomically per value, from the same slabs.",
      .examples = {"--workers=2 --seconds=30", "--mix=c --keys=10000000 --index=hash"},
      .flags = parameter_flags(),
      .variants = {Variant::kKeyValue, Variant::kSimpleAllocator},
      .no_protocol = "accesses the bare index, without transactions; use 'bench ycsb'",
      .latency_sample = kLatencySample,
      .durability = "",
      .set_defaults =
          [](FlagValues& flags) {
            set_defaults(flags);
            flags.set_unless_given("isolation", "none");
          },
      .make = [](const Settings& settings, const FlagValues& flags) { return make("kv", true, settings, flags); },
  };
  return command;
}

}  // namespace granary::bench::ycsb
