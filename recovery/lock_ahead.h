#pragma once
// What a node that died may hold locked at other nodes, and which of its transactions may not be written back everywhere, as
// its rings say (src/log/lock_ahead.h). Safe on any bytes.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "src/log/lock_ahead.h"
#include "src/log/ring.h"
#include "src/record/tid.h"

namespace granary::recovery {

/// A transaction, or a part of one that locked more and more, without its completion mark.
struct UnfinishedTransaction {
  /// If it is decided: of its entry in the ring or in the log, which has its writes. If not, nothing of it is anywhere, and what it
  /// has locked is to be freed unchanged.
  std::optional<record::TidWord> tid;
  /// Records that it may hold, each exactly if its state word is this word. Keys point into what was read.
  std::vector<log::NamedLock> locks;
};

/// Of an area with so many slots, beside a ring whose tail is `tail`. kDamaged if a record's bytes are not what was written.
Result<std::vector<UnfinishedTransaction>> read_lock_ahead(std::string_view area, std::uint64_t slots,
                                                           std::uint64_t tail);
/// Of a ring. Nothing of one without such a record.
Result<std::vector<UnfinishedTransaction>> read_lock_ahead(const log::Ring& ring);

}  // namespace granary::recovery
