#pragma once
// Keeps the manifest of a database in use, in memory and on the device. A change is written before anybody sees it, so
// nobody relies on something that the next opening would not find. adopt() and note_keys() change the memory only; the
// next change() writes their changes, too.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <granary/function_ref.h>
#include <granary/status.h>

#include "recovery/manifest.h"
#include "src/base/file.h"

namespace granary::db {

class DurableManifest {
 public:
  /// Begins with an empty manifest. `directory` is the database's.
  DurableManifest(base::FileSystem& files, std::string directory) : files_(files), directory_(std::move(directory)) {}

  /// Returns the manifest itself, for the thread that opens or closes the database while nobody else uses it.
  const recovery::Manifest& now() const { return manifest_; }
  /// Replaces the manifest in memory only, while the database opens.
  void adopt(recovery::Manifest manifest) { manifest_ = std::move(manifest); }

  // The following are thread-safe.

  recovery::Manifest copy() const;
  /// Writes the manifest with the changes that `act` makes to it. After an error, and after an exception such as
  /// std::bad_alloc, nobody sees the changes, and the device may have them.
  Status change(FunctionRef<void(recovery::Manifest&)> act);
  /// Writes the manifest as it is in memory, if a change that failed may have left its own on the device.
  Status write_back();
  /// Returns the durable definition of a table or index.
  recovery::TableEntry table(std::uint32_t id) const;
  /// Raises the number of keys for which a hash table is made at the next opening, in memory only.
  void note_keys(std::uint32_t table, std::uint64_t keys);

 private:
  base::FileSystem& files_;
  const std::string directory_;
  mutable std::mutex mutex_;  // guards manifest_ once the database serves
  recovery::Manifest manifest_;
  bool in_doubt_ = false;  // whether the device may have a manifest that a failed change has written
};

}  // namespace granary::db
