#pragma once
// Reads from a dead node's rings which records it may hold locked at other nodes, and which of its transactions may not
// be written back everywhere (src/log/lock_ahead.h). It is safe on any bytes.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "src/log/lock_ahead.h"
#include "src/log/ring.h"
#include "src/record/tid.h"

namespace granary::recovery {

/// A transaction without its completion mark, or a part of one that took several runs of blocks.
struct UnfinishedTransaction {
  /// The transaction's TID if it is decided. Then its entry, in the ring or in the log, has its writes. If it is not
  /// decided, none of its writes is anywhere, and the records that it has locked are to be freed unchanged.
  std::optional<record::TidWord> tid;
  /// The place in the ring where the entry ends, counted as the ring's tail is, if the transaction is decided.
  std::uint64_t log_end = 0;
  /// The records that the transaction may hold. It holds a record exactly if the record's state word is the lock's
  /// word. Keys point into the bytes that were read.
  std::vector<log::NamedLock> locks;
};

/// Reads an area with so many slots, beside a ring whose tail is `tail`. Returns kDamaged if its bytes are not those
/// that were written.
Result<std::vector<UnfinishedTransaction>> read_lock_ahead(std::string_view area, std::uint64_t slots,
                                                           std::uint64_t tail);
/// Reads the area of a ring. Returns nothing if the ring has none.
Result<std::vector<UnfinishedTransaction>> read_lock_ahead(const log::Ring& ring);

}  // namespace granary::recovery
