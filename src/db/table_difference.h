#pragma once
// Compares the durable definition of a recovered table or index with the one that an application declares.

#include <string>

#include "recovery/manifest.h"

namespace granary::db {

/// Returns in words how the declared definition differs from the recovered one; empty if it does not. Ids, names and
/// expected keys are not compared.
std::string difference(const recovery::TableEntry& recovered, const recovery::TableEntry& declared);

}  // namespace granary::db
