#pragma once
// Range checks of Options.

#include <granary/options.h>
#include <granary/status.h>

namespace granary::db {

/// kInvalidArgument naming the field, its value and its range; ok if all are in range.
Status check_options(const Options& options);

}  // namespace granary::db
