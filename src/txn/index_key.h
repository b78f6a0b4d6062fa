#pragma once
// Makes secondary keys from records (include/granary/table.h, IndexPart).

#include <string>
#include <string_view>

#include <granary/table.h>

namespace granary::txn {

/// Appends the secondary key of a record; not unique indexes append the primary key to it, escaped by length.
void append_index_key(const IndexOptions& options, std::string_view key, std::string_view value, std::string& out);

/// Why these parts cannot be an index; empty if they can.
std::string index_options_error(const IndexOptions& options);

}  // namespace granary::txn
