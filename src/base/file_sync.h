#pragma once
// Makes the bytes that were written to a file durable, by a sync whose success can be believed.
//
// ext4 forgets a failure. When its journal cannot be written, the sync that was waiting for it fails. Every later sync
// of another file whose changes were in the same transaction of the journal succeeds, although they are lost; only the
// next change to any file fails. So a sync of the log counts as a success only if a harmless change succeeds after it
// as well. If the journal broke before the sync, that change fails. If it breaks later, it has the synced transaction.

namespace granary::base {

/// Calls fdatasync(). Returns 0, or the errno of what failed.
int sync_data(int descriptor);
/// Calls fsync(), for directories. Returns 0, or the errno of what failed.
int sync_all(int descriptor);
/// Confirms a sync that was made in another way and has succeeded. Returns 0 if its success can be believed, or else an
/// errno.
int confirm_sync(int descriptor);

}  // namespace granary::base
