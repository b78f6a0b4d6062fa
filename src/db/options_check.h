#pragma once
// Checks of options. Their ranges: src/base/options_table.h, src/db/table_options.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>
#include <granary/table.h>

namespace granary::db {

/// kInvalidArgument naming the field, its value and its range; ok if all are in range.
Status check_options(const Options& options);

/// Returns the names that Options::protocol may have; the default comes first.
std::vector<std::string> protocol_names();

/// Whether a database with these options can have shared tables, so be a node of a cluster.
bool reaches_shared_tables(const Options& options);
/// Returns the names of the protocols whose databases can.
std::vector<std::string> shared_protocol_names();
/// Returns whether the protocol runs whole transactions in HTM regions (DrTM), so that a database needs HTM.
bool runs_in_regions(const Options& options);
/// Returns whether the protocol computes times from what is read (TicToc). If so, a transaction is serial behind those
/// that were released when it began, but not always behind those that had only committed.
bool stamps_reads(const Options& options);
/// Returns whether transactions can read parts of values without the rest.
bool reads_parts(const Options& options);

/// Checks a table's options in the same way, and that a database with these options can have such a table.
Status check_table(std::string_view table, const TableOptions& wanted, const Options& options);

/// Checks TableOptions::expected_keys alone, which a resize gives anew.
Status check_expected_keys(std::string_view table, std::uint64_t keys);

/// What to say if there is no memory for a hash index of so many keys.
Status no_room_for_header(std::string_view table, std::uint64_t keys);

}  // namespace granary::db
