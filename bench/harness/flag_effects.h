#pragma once
// Checks for flags that would be without effect, as there is no log, or Granary's engine does not run. They are
// refused, because a figure must not be of other settings than its command line says.

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/harness/flags.h"

namespace granary::bench {

/// Returns the variants that --variant asks for, if the command has that flag. An error is a usage error.
Result<VariantSet> variants_from(const BenchCommand& command, const FlagValues& flags);

/// Returns the variants that --variant names; none if it cannot be understood, which variants_from() reports.
VariantSet variants_named(const FlagValues& flags);

/// Sets flags that were not given to the values that the others imply: --cluster, --variant, --protocol, and those of
/// the command's own set_defaults. So reports tell what was run.
void set_implied_values(const BenchCommand& command, FlagValues& flags);

/// Returns kInvalidArgument if a flag or variant was given that would have no effect beside the others.
Status check_flag_effects(const BenchCommand& command, const FlagValues& flags, VariantSet variants);

}  // namespace granary::bench
