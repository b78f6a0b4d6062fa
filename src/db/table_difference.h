#pragma once
// Whether the durable definition of a recovered table or index and what an application declares is the same.

#include <string>

#include "recovery/manifest.h"

namespace granary::db {

/// What the declared definition has other than the recovered one; empty if nothing. Ids, names and expected
/// keys are not compared.
std::string difference(const recovery::TableEntry& recovered, const recovery::TableEntry& declared);

}  // namespace granary::db
