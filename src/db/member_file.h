#pragma once
// Whether a database's directory, which its manifest says a node of a cluster wrote, has the file that tells of which
// node.

#include <string>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "src/base/file.h"

namespace granary::db {

/// kDamaged, naming the file, if it is missing from the data of a node, is older than they are, or does not say whose
/// they are.
Status check_member_file(base::FileSystem& files, const std::string& directory, const recovery::Manifest& manifest);

}  // namespace granary::db
