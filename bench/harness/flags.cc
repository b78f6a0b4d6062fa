#include "bench/harness/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/byte_size.h"
#include "src/base/check.h"
#include "src/base/option.h"

namespace granary::bench {

namespace {

/// The end of a range that has no end.
constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Flag integer_flag(std::string name, std::uint64_t initial, std::uint64_t low, std::uint64_t high, std::string unit,
                  std::string help) {
  Flag flag{.name = std::move(name),
            .kind = FlagKind::kInteger,
            .initial = std::to_string(initial),
            .help = std::move(help),
            .unit = std::move(unit)};
  flag.low = low;
  flag.high = high;
  return flag;
}

Flag real_flag(std::string name, double initial, double low, double high, std::string unit, std::string help) {
  Flag flag{.name = std::move(name),
            .kind = FlagKind::kReal,
            .initial = fmt::format("{}", initial),
            .help = std::move(help),
            .unit = std::move(unit)};
  flag.real_low = low;
  flag.real_high = high;
  return flag;
}

Flag switch_flag(std::string name, bool initial, std::string help) {
  return {.name = std::move(name),
          .kind = FlagKind::kSwitch,
          .initial = initial ? "true" : "false",
          .help = std::move(help)};
}

Flag text_flag(std::string name, std::string initial, std::string unit, std::string help) {
  return {.name = std::move(name),
          .kind = FlagKind::kText,
          .initial = std::move(initial),
          .help = std::move(help),
          .unit = std::move(unit)};
}

Flag choice_flag(std::string name, std::string initial, std::vector<std::string> choices, std::string help) {
  Flag flag{.name = std::move(name), .kind = FlagKind::kChoice, .initial = std::move(initial), .help = std::move(help)};
  flag.choices = std::move(choices);
  return flag;
}

Flag bytes_flag(std::string name, std::string initial, std::uint64_t low, std::uint64_t high, std::string help) {
  Flag flag{.name = std::move(name),
            .kind = FlagKind::kBytes,
            .initial = std::move(initial),
            .help = std::move(help),
            .unit = "SIZE"};
  flag.low = low;
  flag.high = high;
  return flag;
}

std::string allowed_values(const Flag& flag) {
  switch (flag.kind) {
    case FlagKind::kSwitch: return "true or false";
    case FlagKind::kInteger:
      if (flag.high == kEndless) return option::whole_number_from(flag.low, "");
      return fmt::format("{} to {}", flag.low, flag.high);
    case FlagKind::kReal: return fmt::format("{} to {}", flag.real_low, flag.real_high);
    case FlagKind::kBytes: return fmt::format("{} to {}", base::size_text(flag.low), base::size_text(flag.high));
    case FlagKind::kChoice: return fmt::format("{}", fmt::join(flag.choices, ", "));
    case FlagKind::kText: break;
  }
  return flag.unit.empty() ? "text" : flag.unit;
}

std::string allowed_with_unit(const Flag& flag) {
  const bool whole = flag.kind == FlagKind::kInteger;
  if (whole && flag.high == kEndless) return option::whole_number_from(flag.low, flag.unit);
  const bool has_unit = (whole || flag.kind == FlagKind::kReal) && !flag.unit.empty();
  return allowed_values(flag) + (has_unit ? " " + flag.unit : "");
}

const FlagValues::Entry& FlagValues::find(std::string_view name, FlagKind kind) const {
  const auto found = values_.find(name);
  base::always_check(found != values_.end(), "a command reads a flag that it does not declare");
  base::always_check(found->second.kind == kind || (kind == FlagKind::kText && found->second.kind == FlagKind::kChoice),
                     "a command reads a flag as another kind");
  return found->second;
}

bool FlagValues::enabled(std::string_view name) const { return find(name, FlagKind::kSwitch).on; }
std::uint64_t FlagValues::integer(std::string_view name) const { return find(name, FlagKind::kInteger).whole; }
double FlagValues::real(std::string_view name) const { return find(name, FlagKind::kReal).real; }
const std::string& FlagValues::text(std::string_view name) const { return find(name, FlagKind::kText).text; }
std::uint64_t FlagValues::bytes(std::string_view name) const { return find(name, FlagKind::kBytes).whole; }

bool FlagValues::given(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.given;
}

}  // namespace granary::bench
