#pragma once
// Lays the parts of a value that a replay has met over the whole value that they belong to.

#include <cstdint>
#include <string_view>

#include "recovery/merged_parts.h"
#include "src/txn/table_core.h"

namespace granary::recovery {

enum class Folded : std::uint8_t {
  kDone,
  kNoBase,     ///< the record is not there, or was removed before the newest part was written
  kOtherSize,  ///< its value has another size than the one that a newer part is of
};

/// Gives the record the bytes of all parts that are newer than it, and the TID of the newest part. The caller is in an
/// epoch, and no other thread uses the record. Everything that may be older than the newest part has been applied. If
/// the result is not kDone, nothing was changed.
Folded fold_parts(txn::TableCore& table, std::string_view key, const MergedParts& parts);

}  // namespace granary::recovery
