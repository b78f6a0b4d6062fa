#pragma once
// The owner of a directory that lies outside of its database's own. Log directories of that kind, and directories of
// rings, hold a small text file, "OWNER", which is written before anything else of the database. A copy of the database
// has the same manifest; this file tells it that the directories which the manifest names belong to the original (I24).

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
  std::string directory;  ///< the database's
  std::string path;       ///< the owned directory, as its owner's manifest names it: a copy of it lies elsewhere

  bool operator==(const Owner&) const = default;
};

/// Reads whose the directory is. None if it is there and has no owner; kNotFound if it is not there; kDamaged if the
/// file does not say whose it is.
Result<std::optional<Owner>> read_owner(base::FileSystem& files, const std::string& directory);
/// Writes the owner, which is durable when this returns. No change if the file says so already.
Status write_owner(base::FileSystem& files, const Owner& owner);

}  // namespace granary::recovery
