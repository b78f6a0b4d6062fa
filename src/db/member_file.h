#pragma once
// Checks that a database's directory has the file that says which node of a cluster wrote it, if its manifest says that
// a node did.

#include <string>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "src/base/file.h"

namespace granary::db {

/// Returns kDamaged, naming the file, if it is missing from the data of a node, is older than they are, or does not say
/// whose they are.
Status check_member_file(base::FileSystem& files, const std::string& directory, const recovery::Manifest& manifest);

}  // namespace granary::db
