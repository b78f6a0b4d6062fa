#pragma once
// Judges the words of a client that has ended: those that it must have said by then, and those that it must not.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/crash/ledger.h"

namespace granary::crash {

/// The last lines, for messages.
std::string tail_of(const std::vector<std::string>& lines);

/// Returns the counters that a check has found, by its lines.
std::array<std::uint64_t, kWorkers> counters_of(const std::vector<std::string>& lines);

/// A client that still reads when its log has failed finds everything as it must be.
void see_that_it_saw_no_violation(const std::vector<std::string>& lines);
/// Where nothing fails but the process itself, it can open its database and use it.
void see_that_nothing_failed(const std::vector<std::string>& lines);
/// When nothing can be written any more, the client is told why; while it runs, it reads on.
void see_that_it_was_told(const std::vector<std::string>& lines);
/// The client is told so, as see_that_it_was_told() says, and has been told by now that the disk is full.
void see_that_the_full_disk_was_told(const std::vector<std::string>& lines);
/// After a write or sync of the log that failed nothing is released any more. The call that failed noted D, which
/// cannot move before it returns; with several loggers it might, by another's, so this is for one.
void see_that_nothing_was_released_after_a_fault(const std::vector<std::string>& lines);

}  // namespace granary::crash
