#pragma once
// Makes the keys of secondary indexes from records (IndexPart in include/granary/table.h). Transactions use it to keep
// indexes in step (index_maintenance.cc), and the schema to check the options of a new index.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <granary/limits.h>
#include <granary/table.h>

namespace granary::txn {

/// The longest secondary key; and the longest key of an entry that has the primary key behind it. The entries of an
/// index are logged and kept in checkpoints as records are, so recovery must take keys of this length.
inline constexpr std::size_t kMaxSecondaryKeyBytes = kMaxKeyBytes / 2;
inline constexpr std::size_t kMaxEntryKeyBytes = kMaxSecondaryKeyBytes + kMaxKeyBytes;

/// Appends the secondary key of a record to `out`. An index that is not unique has the primary key behind it, so that
/// entries of one secondary key differ.
void append_index_key(const IndexOptions& options, std::string_view key, std::string_view value, std::string& out);

/// Returns how many bytes the secondary key has with which `bytes` begins; nullopt if they begin with no whole one.
std::optional<std::size_t> index_key_bytes(const IndexOptions& options, std::string_view bytes);

/// Returns why there can be no index with these parts; empty if there can.
std::string index_options_error(const IndexOptions& options);

}  // namespace granary::txn
