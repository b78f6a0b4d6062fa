#include "bench/ycsb/parameters.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <granary/limits.h>

namespace granary::bench::ycsb {

const std::array<Mix, 12>& mixes() {
  //                                               read update put rmw insert scan
  static constexpr std::array<Mix, 12> kMixes{{{"silo", {{80, 0, 0, 20, 0, 0}}},
                                               {"changes", {{0, 0, 0, 100, 0, 0}}},
                                               {"few_changes", {{95, 0, 0, 5, 0, 0}}},
                                               {"a", {{50, 50, 0, 0, 0, 0}}, false, 0.99},
                                               {"b", {{95, 5, 0, 0, 0, 0}}, false, 0.99},
                                               {"c", {{100, 0, 0, 0, 0, 0}}, false, 0.99},
                                               {"d", {{95, 0, 0, 0, 5, 0}}, true, 0.99},
                                               {"e", {{0, 0, 0, 0, 5, 95}}, false, 0.99},
                                               {"f", {{50, 0, 0, 50, 0, 0}}, false, 0.99},
                                               {"read_only", {{100, 0, 0, 0, 0, 0}}, false, 0, true},
                                               {"medium", {{90, 0, 0, 10, 0, 0}}, false, 0.8, true},
                                               {"high", {{50, 0, 0, 50, 0, 0}}, false, 0.9, true}}};
  return kMixes;
}

const std::array<Preset, 6>& presets() {
  static constexpr std::array<Preset, 6> kPresets{
      {{"ccbench", "CCBench: 10 operations, half of them updates, uniform", "a", 0, 10},
       {"ccbench_skewed", "the same with zipf 0.9", "a", 0.9, 10},
       {"dbx1000_medium", "DBx1000, TicToc: 16 requests, 10 % read-modify-writes, rows of 1 KB, zipf 0.8", "medium",
        0.8, 16, 10, 1000},
       {"dbx1000_high", "DBx1000, TicToc: the same with 50 % and zipf 0.9", "high", 0.9, 16, 10, 1000},
       {"cicada_uniform", "Cicada: 10 operations, half of them read-modify-writes, uniform", "f", 0, 10},
       {"cicada_reads", "Cicada: 10 operations, 5 % read-modify-writes, zipf 0.9", "few_changes", 0.9, 10}}};
  return kPresets;
}

namespace {

std::string preset_help() {
  std::string help = "The work of another engine's own benchmark; flags that are given take precedence.";
  for (const Preset& preset : presets()) {
    help += fmt::format(" {}: {} (--mix={} --theta={} --ops={} --fields={} --value_bytes={}).", preset.name, preset.of,
                        preset.mix, preset.theta, preset.ops, preset.fields, preset.value_bytes);
  }
  return help;
}

/// Returns the preset that was chosen, or nullptr if none was.
const Preset* chosen_preset(const FlagValues& flags) {
  for (const Preset& preset : presets()) {
    if (preset.name == flags.text("preset")) return &preset;
  }
  return nullptr;
}

/// Returns the mix that was chosen. It is always found, because the parser accepts no other names. Where --shares takes
/// its place, it is a mix that implies nothing.
Mix chosen_mix(const FlagValues& flags) {
  return flags.given("shares") ? Mix() : *std::ranges::find(mixes(), flags.text("mix"), &Mix::name);
}

constexpr std::array<std::pair<std::string_view, Isolation>, 3> kLevels{
    {{"serializable", Isolation::kSerializable},
     {"snapshot", Isolation::kSnapshot},
     {"repeatable_read", Isolation::kRepeatableRead}}};

constexpr std::array<std::pair<std::string_view, hekaton::TimestampSource>, 4> kSources{
    {{"mutex", hekaton::TimestampSource::kMutex},
     {"fetch_add", hekaton::TimestampSource::kFetchAdd},
     {"hardware_clock", hekaton::TimestampSource::kHardwareClock},
     {"local_clock", hekaton::TimestampSource::kLocalClock}}};

}  // namespace

std::vector<Flag> parameter_flags() {
  std::vector<std::string> names;
  for (const Mix& mix : mixes()) names.emplace_back(mix.name);
  std::vector<std::string> engines{"none"};
  for (const Preset& preset : presets()) engines.emplace_back(preset.name);
  return {
      choice_flag("preset", "none", engines, preset_help()),
      choice_flag(
          "mix", "silo", names,
          "silo: 80 % reads and 20 % read-modify-writes as in the Silo paper; changes: read-modify-writes only; "
          "few_changes: 95 % reads and 5 % read-modify-writes; a to f: YCSB's standard workloads; read_only, medium, "
          "high: those of the TicToc paper, 16 operations on records of ten fields of 100 bytes, with 0, 10 and 50 % "
          "read-modify-writes."),
      text_flag(
          "shares", to_text(mixes().front().shares), "KIND=PERCENT,...",
          "Instead of --mix: how often each kind of operation comes, such as "
          "read=50,update=30,rmw=10,insert=5,scan=5. read: a record; update: overwrites a record, or with several "
          "--fields reads it and changes one of them; put: overwrites a whole record without a read; rmw: reads a "
          "record and adds one to it; insert: adds a new record; scan: visits records in order. Unless given, "
          "those of the mix."),
      integer_flag("keys", 1'000'000, 1, 10'000'000'000, "keys",
                   "Records loaded, on each node of a cluster; 8-byte keys."),
      integer_flag("value_bytes", 100, 16, kMaxValueBytes, "bytes",
                   "Size of each value; unless given, 1000 for the TicToc paper's mixes."),
      integer_flag(
          "fields", 1, 1, kMaxValueBytes, "fields",
          "Fields of equal size in each value. With more than one, an update reads the record and writes one of "
          "them. Unless given, 10 for the TicToc paper's mixes."),
      integer_flag("ops", 1, 1, kMaxOps, "operations",
                   "Operations in a transaction, each on another key; unless given, 16 for the TicToc paper's "
                   "mixes."),
      switch_flag(
          "parts", false,
          "Each operation reads and writes one field of its record, without the others; with several --fields."),
      switch_flag(
          "multi_get", false,
          "Each transaction first reads all that its operations need by one multi_get, and at last puts all that they "
          "put by one multi_put; with several --ops. With --parts it is always so."),
      choice_flag("timestamps", "fetch_add", {"mutex", "fetch_add", "hardware_clock", "local_clock"},
                  "With --variant=hekaton: where timestamps come from."),
      choice_flag(
          "isolation", "serializable", {"serializable", "snapshot", "repeatable_read"},
          "Isolation level of all transactions; on a node of a cluster, on the bare index and with --variant=dta, only "
          "the first."),
      real_flag("theta", 0, 0, 0.999, "",
                "Zipfian skew of the keys, 0 = uniform; unless given, 0 for silo, changes, few_changes and read_only, "
                "0.8 for medium, 0.9 for high, 0.99 for a to f, and 0 with --shares."),
      integer_flag("scan_length", 100, 1, 1'000'000, "records", "Scans visit 1 to this many records."),
      choice_flag("index", "ordered", {"ordered", "hash"}, "The index. Scans, as those of mix e, need an ordered one."),
      real_flag("distributed_percent", 0, 0, 100, "percent",
                "In a cluster: share of operations on a key of another node."),
      choice_flag("load_order", "sequential", {"sequential", "random"}, "Order in which keys are loaded."),
  };
}

void set_defaults(FlagValues& flags) {
  const Preset* const preset = chosen_preset(flags);
  if (flags.given("shares"))
    flags.set_unless_given("mix", {.kind = FlagKind::kChoice, .unset = true});
  else if (preset != nullptr)
    flags.set_unless_given("mix", preset->mix);
  const Mix mix = chosen_mix(flags);
  flags.set_unless_given("shares", {.text = to_text(mix.shares)});
  const double theta = preset != nullptr ? preset->theta : mix.default_theta;
  flags.set_unless_given("theta", {.kind = FlagKind::kReal, .real = theta, .text = fmt::format("{}", theta)});
  if (preset != nullptr || mix.tictoc) {
    flags.set_unless_given("fields", preset != nullptr ? preset->fields : kFields);
    flags.set_unless_given("value_bytes", preset != nullptr ? preset->value_bytes : kFields * kFieldBytes);
    flags.set_unless_given("ops", preset != nullptr ? preset->ops : kOps);
  }
}

std::string shares_name(const FlagValues& flags) {
  return flags.given("shares") ? "--shares=" + flags.text("shares") : "mix " + flags.text("mix");
}

Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags) {
  if (flags.given("shares") && flags.given("mix"))
    return Status(StatusCode::kInvalidArgument, "--shares and --mix exclude each other");
  const Result<Shares> shares = parse_shares(flags.text("shares"));
  if (!shares.ok()) return shares.status();
  Parameters parameters;
  parameters.shares = *shares;
  parameters.latest = chosen_mix(flags).latest;
  parameters.keys = flags.integer("keys");
  parameters.fields = static_cast<std::uint32_t>(flags.integer("fields"));
  parameters.value_bytes = static_cast<std::uint32_t>(flags.integer("value_bytes"));
  parameters.ops = static_cast<std::uint32_t>(flags.integer("ops"));
  parameters.parts = flags.enabled("parts");
  parameters.multi_get = flags.enabled("multi_get");
  for (const auto& [level, isolation] : kLevels) {
    if (level == flags.text("isolation")) parameters.isolation = isolation;
  }
  for (const auto& [name, source] : kSources) {
    if (name == flags.text("timestamps")) parameters.timestamps = source;
  }
  parameters.theta = flags.real("theta");
  parameters.scan_length = static_cast<std::uint32_t>(flags.integer("scan_length"));
  parameters.random_load_order = flags.text("load_order") == "random";
  parameters.hash = flags.text("index") == "hash";
  parameters.distributed = flags.real("distributed_percent") / 100;
  parameters.seed = settings.seed;
  parameters.share = settings.share;
  return parameters;
}

std::uint64_t estimated_bytes(const Parameters& parameters) {
  constexpr std::uint64_t kHeader = 24, kGrain = 32, kIndexEntry = 32, kFixed = 16u << 20;
  const std::uint64_t stored = std::max<std::uint64_t>(parameters.value_bytes, parameters.stored_bytes);
  const std::uint64_t record = (kHeader + stored + kGrain - 1) / kGrain * kGrain;
  return parameters.keys * (record + kIndexEntry) + kFixed;
}

}  // namespace granary::bench::ycsb
