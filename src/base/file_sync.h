#pragma once
// Making what was written to a file durable, by a sync whose success can be believed.
//
// ext4 forgets a failure: when its journal cannot be written, the sync that was waiting for it fails, and every later
// sync of another file whose changes were in the same transaction of the journal succeeds, although they are lost; only
// the next change to any file fails. So after a sync of the log may be called a success, a harmless change must succeed
// as well. A journal that broke before the sync makes that fail; one that breaks later has the synced transaction.

namespace granary::base {

/// fdatasync(). Returns 0, or the errno of what failed.
int sync_data(int descriptor);
/// fsync(), for directories. Returns 0, or the errno of what failed.
int sync_all(int descriptor);
/// For a sync that was made otherwise and has succeeded: returns 0 if its success can be believed, or else an errno.
int confirm_sync(int descriptor);

}  // namespace granary::base
