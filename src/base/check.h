#pragma once
// Has assertions whose names tell their strengths. They catch our own mistakes. Anything that a user, a disk or a peer
// can do is an error value, and never an assertion.

#include <source_location>
#include <string>

namespace granary::base {

/// Whether this build has the checks that are too dear for others.
#ifdef NDEBUG
inline constexpr bool kDebugChecks = GRANARY_TEST_HOOKS;
#else
inline constexpr bool kDebugChecks = true;
#endif

/// Prints what failed and where, then aborts the process.
[[noreturn]] void fail(const char* what, std::source_location where);

/// Does what fail() does, unless debug invariants are muted; then it returns.
void debug_fail(const char* id, std::source_location where);
/// Lets debug invariants that do not hold end nothing from now on. Then tests show whether they notice an injected bug
/// by themselves, which they could not if it ended the process at once (tests/injected). Called before threads start.
void mute_debug_invariants();

/// Ends the program because it broke a rule of the API in a way that no status can report: prints the message, then
/// aborts.
[[noreturn]] void abort_misuse(const std::string& message);

/// Checks a condition in every build.
inline void always_check(bool holds, const char* what, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail(what, where);
}

/// Checks a condition in debug and test builds only. For conditions that are too expensive on the hot path.
inline void debug_check([[maybe_unused]] bool holds, [[maybe_unused]] const char* what,
                        [[maybe_unused]] std::source_location where = std::source_location::current()) {
  if constexpr (kDebugChecks) {
    if (!holds) [[unlikely]]
      fail(what, where);
  }
}

/// Checks a numbered invariant of docs/invariants.md, in every build.
inline void invariant(const char* id, bool holds, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail(id, where);
}

/// Checks a numbered invariant on the hot path, in debug and test builds only. `holds` is a function that returns
/// whether it holds, so that other builds do not even load the values that it looks at. It looks only at data that the
/// calling thread owns, or that no other thread changes meanwhile: the check must be true whatever other threads do at
/// the same time.
template <typename Holds>
inline void debug_invariant([[maybe_unused]] const char* id, [[maybe_unused]] const Holds& holds,
                            [[maybe_unused]] std::source_location where = std::source_location::current()) {
  if constexpr (kDebugChecks) {
    if (!holds()) [[unlikely]]
      debug_fail(id, where);
  }
}

}  // namespace granary::base
