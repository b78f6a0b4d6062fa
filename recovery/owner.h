#pragma once
// Whose a directory outside of a database's own is. Log directories elsewhere and directories of rings hold a small text file,
// "OWNER", written before anything else of the database. A copy of the database has the same manifest; by this file it is told
// that what the manifest names belongs to the original.

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

/// None if the directory is there and has no owner; kNotFound if it is not there; kDamaged if the file does not say whose it is.
Result<std::optional<Owner>> read_owner(base::FileSystem& files, const std::string& directory);
/// Durable when it returns; no change if it says so already.
Status write_owner(base::FileSystem& files, const Owner& owner);

}  // namespace granary::recovery
