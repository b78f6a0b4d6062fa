#pragma once
// Checks options. Their ranges are in src/base/options_table.h and src/db/table_options.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>
#include <granary/table.h>

namespace granary::db {

/// Returns an error that names the option and its value, if an option is out of its range, options contradict each
/// other, or the process may not use so much memory.
Status check_options(const Options& options);

/// Returns the names that Options::protocol may have; the default comes first.
std::vector<std::string> protocol_names();

/// Whether a database with these options can have shared tables, and so be a node of a cluster.
bool reaches_shared_tables(const Options& options);
/// Returns the names of the protocols whose databases can have shared tables.
std::vector<std::string> shared_protocol_names();
/// Whether the protocol runs whole transactions in HTM regions (DrTM), so that a database needs HTM.
bool runs_in_regions(const Options& options);
/// Whether the protocol computes times from what is read (TicToc). If so, a transaction is serial after those that were
/// released when it began, but not always after those that had only committed.
bool stamps_reads(const Options& options);
/// Whether transactions can read parts of values without the rest.
bool reads_parts(const Options& options);

/// Checks the ranges of a table's options, and that a database with `options` can have such a table.
Status check_table(std::string_view table, const TableOptions& wanted, const Options& options);

/// Checks TableOptions::expected_keys alone, for a resize, which gives a new value of it.
Status check_expected_keys(std::string_view table, std::uint64_t keys);

/// Returns the error for a table whose hash index of so many keys finds no memory.
Status no_room_for_header(std::string_view table, std::uint64_t keys);

}  // namespace granary::db
