#pragma once
// Reads from a dead node's rings and log the debts of its last life at other nodes: the x-locks that it may hold there,
// and the versions that have to be written before they are freed.
//
// A transaction that is decided and has no completion mark has an entry, which has all of its writes with their homes.
// While the entry is in its ring, it is found by the place where it ends. If the ring has given its bytes back, the
// entry stands in the log of the ring's logger, in the generation that was running, before the position that the ring
// names. Nothing of that part of the log may be missing (recovery/survey.h), and no checkpoint makes it needless as
// long as the transaction holds a lock. Two workers may choose the same TID, but not for writes of the same key. So in
// the log a write is found by TID and key, and all entries with that TID are looked at.
//
// Nothing is guessed: an entry that cannot be found is damage, and so are bytes that do not fit the tables.

#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "recovery/survey.h"
#include "src/log/debt.h"

namespace granary::recovery {

/// Returns the debts, by ring and slot. `survey` is of the manifest's last generation, with all of its rings. Returns
/// kDamaged, naming the ring and the slot or TID, if anything that is needed is not as it was written. Returns
/// kNotFound if only a part of the log was looked at, and an entry that is needed is not in it.
Result<std::vector<log::Debt>> read_debts(base::FileSystem& files, const Manifest& manifest, const LogSurvey& survey);

}  // namespace granary::recovery
