#pragma once
// Says who owns a directory that lies outside of its database's own. Log directories of that kind, and directories of
// rings, hold a small text file, "OWNER", which is written before anything else of the database. A copy of the database
// has the same manifest. This file tells it that the directories which the manifest names belong to the original (I24).

#include <optional>
#include <string>

#include <granary/status.h>

#include "src/base/file.h"
#include "src/log/format.h"

namespace granary::recovery {

inline constexpr std::string_view kOwnerName = "OWNER";

struct Owner {
  log::DatabaseId database{};
  log::DatabaseId instance{};
  std::string directory;  ///< the directory of the database
  std::string path;       ///< the owned directory, as its owner's manifest names it; a copy of it lies at another path

  bool operator==(const Owner&) const = default;
};

/// Reads whose the directory is. Returns none if the directory is there and has no owner; kNotFound if it is not there;
/// kDamaged if the file does not say whose it is.
Result<std::optional<Owner>> read_owner(base::FileSystem& files, const std::string& directory);
/// Writes the owner, which is durable when this returns. Changes nothing if the file names that owner already.
Status write_owner(base::FileSystem& files, const Owner& owner);

}  // namespace granary::recovery
