#pragma once
// Decides whether a database lies where its manifest says, and whose the directories are that the manifest names. Every
// program that opens a database, or looks at one, settles that first, and changes nothing while it does.
//
// The rule (I24): another directory than its own never uses anything of a database. A copy (made by cp, by a snapshot
// of the file system, or put back from a backup) is a database of its own from its first opening on. It has the
// transactions of its log files, and no rings. A directory that was renamed stays the database that it was. See
// docs/decisions/copies.md.

#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "recovery/surviving_rings.h"
#include "src/base/file.h"

namespace granary::recovery {

/// The caller's statements about the directories.
struct Wishes {
  std::vector<std::string> log_directories;  ///< canonical; those of a copy may be copies of the original's
  bool moved = false;  ///< whether the caller says that the database was moved here, and is no copy: take_residence()
};

struct Settled {
  /// The manifest, with the log directories that are to be used now.
  Manifest manifest;
  /// The place where the database is now.
  Residence residence;
  /// Whether it is another instance than its manifest says: a copy, or a database that was moved otherwise than by a
  /// rename.
  bool copy = false;
  std::string note;  ///< for users; else empty

  /// Returns the rings that survived a process that died. There are none if this is a copy, as the rings are the
  /// original's. Returns kDamaged if something of another database is in their place.
  Result<SurvivingRings> rings() const;
  /// Returns kDamaged if the directory of the rings is another database's. Nothing in it is touched then.
  Status check_ring_owner() const;
};

/// Settles a database. `directory` is canonical, and `manifest` was read there. Returns kFailedPrecondition, naming
/// what belongs to whom, if the database needs a directory that is another database's, or if the user has to say
/// whether it was moved or copied.
Result<Settled> settle(base::FileSystem& files, Manifest manifest, const std::string& directory, const Wishes& wishes);

/// Makes a database that was moved otherwise than by a rename the one that it was: log directories that stayed, and log
/// rings, are its own again. It is refused as long as the original is there. The caller holds the directory's lock.
Status take_residence(base::FileSystem& files, const std::string& directory, Wishes wishes);

/// Returns kFailedPrecondition if `log_directory`, which a database in `directory` does not use yet, has another owner
/// and something in it.
Status check_unowned(base::FileSystem& files, const Manifest& manifest, const std::string& directory,
                     const std::string& log_directory);

}  // namespace granary::recovery
