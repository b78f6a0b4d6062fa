#pragma once
// Makes secondary keys from records (include/granary/table.h, IndexPart).

#include <string>
#include <string_view>

#include <granary/table.h>

namespace granary::txn {

/// Appends the secondary key of a record; indexes that are not unique append the primary key, as it is: what comes
/// before it shows by itself where it ends.
void append_index_key(const IndexOptions& options, std::string_view key, std::string_view value, std::string& out);

/// Why these parts cannot be an index; empty if they can.
std::string index_options_error(const IndexOptions& options);

}  // namespace granary::txn
