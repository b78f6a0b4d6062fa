#pragma once
// Reads from a dead node's rings and log what its last life owes at other nodes: which x-locks it may hold there, and
// what has to be written before they are freed.
//
// A transaction without a completion mark that is decided has an entry, which has all of its writes with their homes.
// While the entry is in its ring it is found by where it ends. If the ring has given its bytes back, it stands in the
// log of the ring's logger, in the generation that was running, before the position that the ring names: nothing of
// that may be missing (recovery/survey.h), and no checkpoint makes it needless as long as the transaction holds a lock.
// Two workers may choose the same TID, but not for writes of the same key. So there a write is found by TID and key,
// and all entries with that TID are looked at.
//
// Nothing is guessed: an entry that cannot be found is damage, and so is whatever does not fit the tables.

#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"
#include "recovery/survey.h"
#include "src/log/debt.h"

namespace granary::recovery {

/// Returns what is owed, by ring and slot. `survey` is of the manifest's last generation, with all of its rings.
/// kDamaged, naming the ring, and slot or TID, if anything that is needed is not as it was written; kNotFound if an
/// entry that is needed is not in the part of the log that was looked at, when that is not the whole.
Result<std::vector<log::Debt>> read_debts(base::FileSystem& files, const Manifest& manifest, const LogSurvey& survey);

}  // namespace granary::recovery
