#pragma once
// Flags that would be without effect, as there is no log, or Granary's engine does not run. They are refused, as a
// figure must not be of other settings than its command line says.

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/harness/flags.h"

namespace granary::bench {

/// Returns the variants that --variant asks for, if the command has that flag. An error is a usage error.
Result<VariantSet> variants_from(const BenchCommand& command, const FlagValues& flags);

/// Returns the variants that --variant names, and none if it cannot be understood: whoever runs them tells that.
VariantSet variants_named(const FlagValues& flags);

/// Gives flags that nobody has given the values that the others imply: --cluster, --variant, --protocol, and what the
/// command knows of its own. Reports then tell what was run.
void set_implied_values(const BenchCommand& command, FlagValues& flags);

/// kInvalidArgument if a flag was given, or a variant, that would have no effect beside the others.
Status check_flag_effects(const BenchCommand& command, const FlagValues& flags, VariantSet variants);

}  // namespace granary::bench
