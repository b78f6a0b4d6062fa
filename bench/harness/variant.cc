#include "bench/harness/variant.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/comma_list.h"

namespace granary::bench {

namespace {

struct NamedVariant {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<NamedVariant, kVariants> kNamed{{
    {"key-value", "the bare index, no transactions"},
    {"dta", "another engine: dynamic timestamp allocation, optimistic transactions with intervals of timestamps"},
    {"dta-bound", "with --protocol=tictoc: each commit passes an empty critical section, which bounds DTA from above"},
    {"hekaton", "another engine: Hekaton's optimistic transactions on several versions of a row"},
    {"memsilo", "the engine without a log (the default)"},
    {"global-tid", "TIDs from one shared counter"},
    {"partitioned-store", "single-threaded stores behind partition locks"},
    {"split", "tables split by partition, with full concurrency control"},
    {"fast-ids", "order ids from a counter outside the transaction"},
    {"no-snapshots", "no old versions are kept"},
    {"no-gc", "nothing is reclaimed"},
    {"no-overwrites", "every write makes a new record"},
    {"simple-allocator", "malloc instead of per-worker slabs"},
    {"small-records", "the log gets TIDs only; with --durability"},
    {"compress", "the log is compressed with LZ4, as --compress=lz4; with --durability"},
    {"tictoc-no-wait", "with --protocol=tictoc: lets go and claims again rather than wait"},
    {"tictoc-preempt", "with --protocol=tictoc: looks before the claims whether the reads can pass"},
    {"tictoc-history", "with --protocol=tictoc: remembers when overwritten versions ended"},
    {"tictoc-session-order", "with --protocol=tictoc: commit times of one worker ascend"},
}};

/// The variants that run a store other than Granary's engine. Each excludes the others, and every variant that changes
/// what Granary's engine does.
constexpr std::array kOtherEngines{Variant::kKeyValue, Variant::kDta, Variant::kHekaton, Variant::kPartitionedStore};

bool needs_own_engine(Variant variant) {
  if (variant == Variant::kSplit || variant == Variant::kDtaBound) return true;
  return variant != Variant::kSimpleAllocator && VariantSet::engine().has(variant);
}

bool contradict(Variant one, Variant other) {
  return one != other && is_other_engine(one) && (is_other_engine(other) || needs_own_engine(other));
}

std::optional<Variant> variant_by_name(std::string_view text) {
  for (std::size_t i = 0; i < kNamed.size(); ++i) {
    if (kNamed[i].name == text) return static_cast<Variant>(i);
  }
  return std::nullopt;
}

std::string names(VariantSet set) {
  std::vector<std::string_view> list;
  for (const Variant variant : set.list()) list.push_back(name(variant));
  return list.empty() ? "none" : fmt::format("{}", fmt::join(list, ", "));
}

}  // namespace

std::string_view name(Variant variant) { return kNamed[static_cast<std::size_t>(variant)].name; }
std::string_view meaning(Variant variant) { return kNamed[static_cast<std::size_t>(variant)].meaning; }

bool is_other_engine(Variant variant) {
  return std::find(kOtherEngines.begin(), kOtherEngines.end(), variant) != kOtherEngines.end();
}

VariantSet VariantSet::all() {
  VariantSet set;
  for (std::size_t i = 0; i < kVariants; ++i) set.add(static_cast<Variant>(i));
  return set;
}

VariantSet VariantSet::engine() {
  return {Variant::kMemSilo,      Variant::kGlobalTid,       Variant::kNoSnapshots,   Variant::kNoGc,
          Variant::kNoOverwrites, Variant::kSimpleAllocator, Variant::kSmallRecords,  Variant::kCompress,
          Variant::kTicTocNoWait, Variant::kTicTocPreempt,   Variant::kTicTocHistory, Variant::kTicTocSessions};
}

std::vector<Variant> VariantSet::list() const {
  std::vector<Variant> list;
  for (std::size_t i = 0; i < kVariants; ++i) {
    if (has(static_cast<Variant>(i))) list.push_back(static_cast<Variant>(i));
  }
  return list;
}

Result<VariantSet> parse_variants(std::string_view text, VariantSet allowed) {
  const auto words = comma_list("variant", text);
  if (!words.ok()) return words.status();
  VariantSet set;
  for (const std::string& word : *words) {
    const std::optional<Variant> variant = variant_by_name(word);
    if (!variant) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--variant={}: unknown; expected some of {}", word, names(allowed)));
    }
    if (!allowed.has(*variant)) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("--variant={}: makes no sense for this workload; expected some of {}", word, names(allowed)));
    }
    set.add(*variant);
  }
  for (const Variant one : set.list()) {
    for (const Variant other : set.list()) {
      if (!contradict(one, other)) continue;
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--variant={},{}: the two exclude each other", name(one), name(other)));
    }
  }
  return set;
}

void apply(VariantSet variants, Options& options) {
  if (variants.has(Variant::kMemSilo)) {
    options.directory.clear();
    options.log_directories.clear();
    options.reliable_directory.clear();
  }
  if (variants.has(Variant::kGlobalTid)) options.tid_source = TidSource::kGlobal;
  if (variants.has(Variant::kNoSnapshots)) options.snapshots = false;
  if (variants.has(Variant::kNoGc)) options.garbage_collection = false;
  if (variants.has(Variant::kNoOverwrites)) options.overwrite_in_place = false;
  if (variants.has(Variant::kSimpleAllocator)) options.simple_allocator = true;
  if (variants.has(Variant::kSmallRecords)) options.small_log_records = true;
  if (variants.has(Variant::kTicTocNoWait)) options.tictoc_no_wait = true;
  if (variants.has(Variant::kTicTocPreempt)) options.tictoc_preempt = true;
  if (variants.has(Variant::kTicTocHistory)) options.tictoc_history = true;
  if (variants.has(Variant::kTicTocSessions)) options.session_order = true;
  if (variants.has(Variant::kCompress)) options.log_compression = LogCompression::kLz4;
}

}  // namespace granary::bench
