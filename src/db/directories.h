#pragma once
// Locks and claims the directories of a database in use: its own, those of its log, and the one of its rings.
//
// Three things are kept true (docs/decisions/copies.md). A directory is locked before anything in it is changed. A
// directory outside of the database's own says in its file OWNER whose it is before there is anything else of the
// database in it. A log directory is in the manifest before there is a segment in it, so that the next opening finds
// what this one left.

#include <memory>
#include <string>
#include <vector>

#include <granary/function_ref.h>
#include <granary/options.h>
#include <granary/status.h>

#include "recovery/settle.h"
#include "src/base/file.h"
#include "src/db/durable_manifest.h"

namespace granary::db {

class Directories {
 public:
  /// `options` have canonical paths; they and the manifest outlive this.
  Directories(const Options& options, base::FileSystem& files, DurableManifest& manifest)
      : options_(options),
        files_(files),
        manifest_(manifest) {}

  /// Locks the database's directory, reads its manifest or makes a new one, settles whose the directories are that the
  /// manifest names, and locks them.
  Status open();
  /// Returns whose the directories are, with the manifest that the former opening left; it is empty if the database is
  /// new.
  const recovery::Settled& settled() const { return settled_; }

  /// Returns the directories in which new segments are made.
  std::vector<std::string> of_log() const;
  /// Makes the directories of of_log(), and former ones that are there, the database's own, and names them in its
  /// manifest. Called before the first segment is made in them.
  Status claim_log();

  /// Returns the directory of this instance's rings. It has the instance's id in its name, because several databases
  /// may share Options::reliable_directory, and a copy has the original's database id.
  std::string of_rings() const;
  /// Locks the directory of the rings that the former process left, if it is there, before they are replayed or
  /// removed.
  Status lock_former_rings();
  /// Makes of_rings() if it is not there, locks it, and makes it the database's own.
  Status claim_rings();
  /// Removes all rings: those of the former process, whose directory `former` the manifest named, and copied ones,
  /// which nobody uses.
  Status remove_rings(const std::string& former);
  /// Removes a directory of rings if no rings are left in it; the next opening makes it again. If an application has
  /// put other files there, these and the directory stay.
  static void remove_ring_directory(const std::string& directory);

 private:
  Status settle(recovery::Manifest manifest);
  Status create_new();
  Status check_new() const;
  Status check_unowned(const std::vector<std::string>& fresh) const;
  bool was_owned(const std::string& log_directory) const;
  Result<bool> is_mounted(const std::string& log_directory) const;
  Status lock(const std::string& directory);
  Status lock_rings(const std::string& directory);

  const Options& options_;
  base::FileSystem& files_;
  DurableManifest& manifest_;
  std::vector<std::unique_ptr<base::File>> locks_;  // locks of the directory and of log directories outside of it
  std::unique_ptr<base::File> ring_lock_;
  std::string ring_lock_path_;
  bool unsettled_ = false;  // whether the manifest on the device names other places than the one in memory
  recovery::Settled settled_;
};

/// Removes the files in these directories whose names are `needless`. Removes all that it can, and returns the first
/// error.
Status remove_files(base::FileSystem& files, const std::vector<std::string>& directories,
                    FunctionRef<bool(const std::string& name)> needless);

}  // namespace granary::db
