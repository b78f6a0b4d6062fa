#pragma once
// Assertions with named strengths. Anything a user, a disk or a peer can do is an error value, never
// one of these; these catch our own mistakes.

#include <source_location>
#include <string>

namespace granary::base {

/// Prints what and where, then aborts the process.
[[noreturn]] void fail(const char* what, std::source_location where);

/// Ends the program because it broke a rule of the API in a way that no status can report: prints the message, then aborts.
[[noreturn]] void abort_misuse(const std::string& message);

/// Checked in every build.
inline void always_check(bool holds, const char* what, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail(what, where);
}

/// Checked in debug and test builds only; for conditions too dear for the hot path.
inline void debug_check([[maybe_unused]] bool holds, [[maybe_unused]] const char* what,
                        [[maybe_unused]] std::source_location where = std::source_location::current()) {
#ifndef NDEBUG
  if (!holds) [[unlikely]]
    fail(what, where);
#endif
}

/// A numbered invariant of docs/invariants.md; checked in every build.
inline void invariant(const char* id, bool holds, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail(id, where);
}

}  // namespace granary::base
