#pragma once
// Assertions with named strengths. Anything a user, a disk or a peer can do is an error value, never
// one of these; these catch our own mistakes.

#include <source_location>
#include <string>

namespace granary::base {

/// Whether this build has the checks that are too dear for others.
#ifdef NDEBUG
inline constexpr bool kDebugChecks = GRANARY_TEST_HOOKS;
#else
inline constexpr bool kDebugChecks = true;
#endif

/// Prints what and where, then aborts the process.
[[noreturn]] void fail(const char* what, std::source_location where);

/// Does what fail() does, unless debug invariants are muted; then it returns.
void debug_fail(const char* id, std::source_location where);
/// Makes debug invariants that do not hold end nothing from now on, so that tests show whether they notice an injected
/// bug by themselves; they could not if it ended the process at once (tests/injected). To be called before threads
/// start.
void mute_debug_invariants();

/// Ends the program because it broke a rule of the API in a way that no status can report: prints the message, then
/// aborts.
[[noreturn]] void abort_misuse(const std::string& message);

/// Checked in every build.
inline void always_check(bool holds, const char* what, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail(what, where);
}

/// Checked in debug and test builds only; for conditions too dear for the hot path.
inline void debug_check([[maybe_unused]] bool holds, [[maybe_unused]] const char* what,
                        [[maybe_unused]] std::source_location where = std::source_location::current()) {
  if constexpr (kDebugChecks) {
    if (!holds) [[unlikely]]
      fail(what, where);
  }
}

/// A numbered invariant of docs/invariants.md; checked in every build.
inline void invariant(const char* id, bool holds, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail(id, where);
}

/// A numbered invariant on the hot path; checked in debug and test builds only. `holds` is a function that tells
/// whether it holds, so that other builds do not even load what it looks at. It looks only at what the calling thread
/// owns, or at what no other thread changes meanwhile: the check must be true whoever does what at the same time.
template <typename Holds>
inline void debug_invariant([[maybe_unused]] const char* id, [[maybe_unused]] const Holds& holds,
                            [[maybe_unused]] std::source_location where = std::source_location::current()) {
  if constexpr (kDebugChecks) {
    if (!holds()) [[unlikely]]
      debug_fail(id, where);
  }
}

}  // namespace granary::base
