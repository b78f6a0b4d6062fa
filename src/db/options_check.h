#pragma once
// Range checks of Options.

#include <granary/options.h>
#include <granary/status.h>
#include <granary/table.h>

namespace granary::db {

/// kInvalidArgument naming the field, its value and its range; ok if all are in range.
Status check_options(const Options& options);

/// Whether a database with these options can have this shared table.
Status check_shared(std::string_view table, const TableOptions& wanted, const Options& options);

}  // namespace granary::db
