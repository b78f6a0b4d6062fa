// The flags that every benchmark has, and what they mean.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/command.h"
#include "bench/harness/machine.h"

namespace granary::bench {

namespace {

constexpr std::uint64_t kAnyInteger = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kPetabyte = std::uint64_t{1} << 50;

std::string variant_help(VariantSet variants) {
  std::vector<std::string> lines;
  for (const Variant variant : variants.list())
    lines.push_back(fmt::format("{} ({})", name(variant), meaning(variant)));
  return fmt::format("Variants of the Silo paper, comma-separated: {}.", fmt::join(lines, "; "));
}

HugePages huge_pages_from(const std::string& text) {
  if (text == "require") return HugePages::kRequire;
  if (text == "off") return HugePages::kOff;
  return HugePages::kTry;
}

}  // namespace

std::vector<Flag> common_flags(const BenchCommand& command) {
  std::vector<Flag> flags;
  flags.push_back(
      integer_flag("workers", 2, 1, kMaxWorkers, "threads", "Worker threads, each running one request after another."));
  flags.push_back(
      real_flag("seconds", command.seconds, 0.01, 1e6, "seconds", "Measured time of each repeat, by the wall clock."));
  flags.push_back(real_flag("warmup", 2, 0, 1e5, "seconds", "Time before the measurement that counts nowhere."));
  flags.push_back(integer_flag("repeat", command.repeat, 1, 1000, "runs",
                               "Measurements; the median by throughput is reported, with minimum and maximum."));
  flags.push_back(text_flag("json", "", "FILE", "Writes everything to FILE as JSON with BenchBase's top-level keys."));
  flags.push_back(integer_flag("seed", 1, 0, kAnyInteger, "", "Seed of all random choices."));
  flags.push_back(
      switch_flag("verify", command.verify, "Checks the data after the run; a failed check ends in exit code 1."));
  if (!command.variants.empty()) flags.push_back(text_flag("variant", "", "a,b", variant_help(command.variants)));
  flags.push_back(choice_flag("huge_pages", "try", {"try", "require", "off"}, "2 MiB pages for records and index."));
  flags.push_back(
      bytes_flag("memory_limit", "0", 0, kPetabyte,
                 "Most that records, versions and index may take; 0 = three quarters of the machine's memory."));
  flags.push_back(bytes_flag("prefault", "0", 0, kPetabyte,
                             "Memory touched before loading, so that no page fault meets a request."));
  flags.push_back(integer_flag("epoch_ms", 40, 1, 10000, "milliseconds", "Time between epochs."));
  flags.push_back(integer_flag("snapshot_epochs", 25, 1, 10000, "epochs", "A snapshot is taken every so many epochs."));
  flags.push_back(
      choice_flag("durability", "none", {"none"}, "What survives a crash; there is no log yet, so only none."));
  flags.push_back(
      choice_flag("pin", "auto", {"auto", "on", "off"}, "Pins workers to cores; auto does if there are enough cores."));
  flags.push_back(
      integer_flag("latency_sample", command.latency_sample, 1, 1000000, "requests", "Times one request in so many."));
  flags.push_back(
      switch_flag("progress", true, "Prints a line a second while loading and running, on standard error."));
  return flags;
}

Result<Settings> settings_from(const BenchCommand& command, const FlagValues& flags) {
  Settings settings;
  settings.workers = static_cast<std::uint32_t>(flags.integer("workers"));
  settings.seed = flags.integer("seed");
  settings.verify = flags.enabled("verify");
  if (flags.declared("variant")) {
    Result<VariantSet> variants = parse_variants(flags.text("variant"), command.variants);
    if (!variants.ok()) return variants.status();
    settings.variants = *variants;
  }
  const std::size_t cpus = allowed_cpus().size();
  if (flags.text("pin") == "on" && settings.workers > cpus) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--pin=on: {} workers do not fit {} cores; use --pin=off or fewer workers",
                              settings.workers, cpus));
  }
  Options& options = settings.options;
  options.epoch_ms = static_cast<std::uint32_t>(flags.integer("epoch_ms"));
  options.snapshot_epochs = static_cast<std::uint32_t>(flags.integer("snapshot_epochs"));
  options.memory_limit_bytes = flags.bytes("memory_limit");
  options.prefault_bytes = flags.bytes("prefault");
  options.huge_pages = huge_pages_from(flags.text("huge_pages"));
  options.max_workers = kMaxWorkers;
  if (options.prefault_bytes > available_memory()) {
    return Status(StatusCode::kInvalidArgument, fmt::format("--prefault={}: only {:.1f} GiB of memory are available",
                                                            flags.all().find("prefault")->second.text,
                                                            static_cast<double>(available_memory()) / (1 << 30)));
  }
  apply(settings.variants, options);
  return settings;
}

}  // namespace granary::bench
