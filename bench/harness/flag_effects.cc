#include "bench/harness/flag_effects.h"

#include <fmt/format.h>

#include "bench/harness/cluster_flags.h"
#include "cluster_config/load.h"
#include "src/base/options_table.h"
#include "src/db/options_check.h"

namespace granary::bench {

namespace {

/// Names what a flag needs to have an effect.
enum class Needs : std::uint8_t { kEngine, kLog, kLogOnDisk };

struct NeedOfFlag {
  const char* flag;
  Needs needs;
};

constexpr NeedOfFlag kNeedsOfFlags[] = {
    {"htm", Needs::kEngine},          {"protocol", Needs::kEngine},         {"durability", Needs::kLog},
    {"directory", Needs::kLogOnDisk}, {"log_dirs", Needs::kLogOnDisk},      {"loggers", Needs::kLog},
    {"ring_bytes", Needs::kLog},      {"log_reserve", Needs::kLog},         {"release", Needs::kLog},
    {"compress", Needs::kLog},        {"checkpoint_interval", Needs::kLog}, {"snapshot_epochs", Needs::kEngine}};

constexpr Variant kVariantsOfLogs[] = {Variant::kSmallRecords, Variant::kCompress};

constexpr Variant kVariantsOfTicToc[] = {Variant::kTicTocNoWait, Variant::kTicTocPreempt, Variant::kTicTocHistory,
                                         Variant::kTicTocSessions};

Status refusal(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

/// The command line to check.
struct Asked {
  const BenchCommand& command;
  const FlagValues& flags;
  VariantSet variants;
};

/// Returns the flag by which another engine than Granary's runs; empty if there is none.
std::string flag_of_other_engine(const Asked& asked) {
  for (const Variant variant : asked.variants.list()) {
    if (is_other_engine(variant)) return fmt::format("--variant={}", name(variant));
  }
  const bool baseline = on_cluster(asked.flags) && asked.flags.text("protocol") == name(Protocol::kTwoPcTcp);
  return baseline ? fmt::format("--protocol={}", name(Protocol::kTwoPcTcp)) : "";
}

/// Refuses variants that the store of a cluster's node does not have.
Status check_variants_of_nodes(const Asked& asked) {
  if (!on_cluster(asked.flags)) return {};
  for (const Variant variant : asked.variants.list()) {
    if (!is_other_engine(variant) && variant != Variant::kSplit) continue;
    return refusal(fmt::format("--variant={}: it is for one node alone, not for a cluster's", name(variant)));
  }
  return {};
}

Status check_engine(const Asked& asked, const std::string& given) {
  if (asked.command.durability.empty())
    return refusal(fmt::format("{}: {} does not run Granary's engine; leave it out", given, asked.command.name));
  const std::string other = flag_of_other_engine(asked);
  if (other.empty() || other == given) return {};
  return refusal(fmt::format("{}: {} does not run Granary's engine; leave one of them out", given, other));
}

/// Refuses a flag that needs logs if the nodes have none by their cluster file. A file that cannot be read refuses
/// nothing here: the next reader reports what is wrong with it.
Status check_logs_of_nodes(const std::string& file, const std::string& given) {
  const auto config = cluster_config::load(file);
  if (!config.ok() || cluster_config::has_logs(*config)) return {};
  return refusal(
      fmt::format("{}: it is about logs, but no node has one; leave it out, or set 'data_directory' in [defaults] or "
                  "[[node]] of '{}'",
                  given, file));
}

Status check_log(const Asked& asked, const std::string& given, Needs needs) {
  if (asked.command.durability.empty())
    return refusal(fmt::format("{}: {} logs nothing; leave it out", given, asked.command.name));
  std::string unlogged = flag_of_other_engine(asked);
  if (unlogged.empty() && asked.variants.has(Variant::kMemSilo))
    unlogged = fmt::format("--variant={}", name(Variant::kMemSilo));
  if (!unlogged.empty()) return refusal(fmt::format("{}: {} has no log; leave one of them out", given, unlogged));
  if (on_cluster(asked.flags)) return check_logs_of_nodes(asked.flags.text("cluster"), given);
  const std::string& mode = asked.flags.text("durability");
  if (mode == "disk" || (mode != "none" && needs == Needs::kLog)) return {};
  return refusal(fmt::format("{}: it is {}, but --durability is {}; expected both or neither", given,
                             needs == Needs::kLog ? "about the log" : "where --durability=disk puts logs", mode));
}

/// Refuses --variant that keeps no old versions together with snapshots and checkpoints, which read them.
Status check_snapshots(const Asked& asked) {
  if (!asked.variants.has(Variant::kNoSnapshots)) return {};
  for (const char* flag : {"checkpoint_interval", "snapshot_epochs"}) {
    if (!asked.flags.declared(flag) || !asked.flags.given(flag) || asked.flags.integer(flag) == 0) continue;
    return refusal(
        fmt::format("--{}={}: it needs the old versions that --variant={} does not keep; leave one of them "
                    "out",
                    flag, asked.flags.integer(flag), name(Variant::kNoSnapshots)));
  }
  return {};
}

Status check_protocol_of_variants(const Asked& asked) {
  for (const Variant variant : kVariantsOfTicToc) {
    if (!asked.variants.has(variant) || asked.flags.text("protocol") == "tictoc") continue;
    return refusal(
        fmt::format("--variant={}: it is for --protocol=tictoc, and the protocol is {}; expected both or "
                    "neither",
                    name(variant), asked.flags.text("protocol")));
  }
  return {};
}

/// Sets the flags that the variants imply. The protocol of another engine has the name of its variant. The bare index
/// has no isolation.
void set_values_of_variants(VariantSet variants, FlagValues& flags) {
  for (const Variant variant : variants.list()) {
    if (is_other_engine(variant)) flags.set_unless_given("protocol", name(variant));
  }
  if (variants.has(Variant::kKeyValue)) flags.set_unless_given("isolation", "none");
  if (variants.has(Variant::kCompress))
    flags.set_unless_given("compress", option::text_of(option::row<&Options::log_compression>(), LogCompression::kLz4));
  if (variants.has(Variant::kMemSilo)) flags.set_unless_given("durability", "none");
}

}  // namespace

Result<VariantSet> variants_from(const BenchCommand& command, const FlagValues& flags) {
  if (!flags.declared("variant")) return VariantSet();
  return parse_variants(flags.text("variant"), command.variants);
}

VariantSet variants_named(const FlagValues& flags) {
  if (!flags.declared("variant")) return {};
  const auto variants = parse_variants(flags.text("variant"), VariantSet::all());
  return variants.ok() ? *variants : VariantSet();
}

void set_implied_values(const BenchCommand& command, FlagValues& flags) {
  set_cluster_defaults(command, flags);
  set_values_of_variants(variants_named(flags), flags);
  if (flags.declared("protocol") && db::runs_in_regions({.protocol = flags.text("protocol")}))
    flags.set_unless_given("htm", option::text_of(option::row<&Options::htm>(), Htm::kAuto));
  if (command.set_defaults) command.set_defaults(flags);
}

Status check_flag_effects(const BenchCommand& command, const FlagValues& flags, VariantSet variants) {
  const Asked asked{command, flags, variants};
  if (Status nodes = check_variants_of_nodes(asked); !nodes.ok()) return nodes;
  for (const auto& [flag, needs] : kNeedsOfFlags) {
    if (!flags.declared(flag) || !flags.given(flag)) continue;
    const std::string given = fmt::format("--{}={}", flag, flags.all().find(flag)->second.text);
    if (given == "--durability=none") continue;
    Status effective = needs == Needs::kEngine ? check_engine(asked, given) : check_log(asked, given, needs);
    if (!effective.ok()) return effective;
  }
  if (variants.has(Variant::kCompress) && flags.declared("compress") && flags.given("compress"))
    return refusal(
        fmt::format("--variant={}: it sets --compress=lz4; leave one of them out", name(Variant::kCompress)));
  for (const Variant variant : kVariantsOfLogs) {
    if (!variants.has(variant)) continue;
    Status logged = check_log(asked, fmt::format("--variant={}", name(variant)), Needs::kLog);
    if (!logged.ok()) return logged;
  }
  if (Status kept = check_snapshots(asked); !kept.ok()) return kept;
  return check_protocol_of_variants(asked);
}

}  // namespace granary::bench
