#pragma once
// Has the parts that only test builds have: bugs that can be switched on by name, to see that the tests notice them,
// and sync points, to force an interleaving. In other builds every call here is a constant and vanishes.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace granary::base {

/// Whether the build has -DGRANARY_TEST_HOOKS=ON.
inline constexpr bool kTestHooks = GRANARY_TEST_HOOKS;

/// Names a mistake that one could make in this code. Code that could make it asks `injected("skip-read-validation")`;
/// `known_bugs()` says what each name means. The compiler turns the name into a number, so that asking costs a
/// comparison, and a new bug needs no new header.
class BugName {
 public:
  // Implicit, so that a literal is a name: not the place for spelling errors, which `injected:names` finds.
  consteval BugName(const char* name) : hash_(hash(name)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr std::uint64_t number() const { return hash_; }

  /// Returns the FNV-1a hash of the name, which is never 0.
  static constexpr std::uint64_t hash(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    return hash | 1u;
  }

 private:
  std::uint64_t hash_;
};

struct KnownBug {
  std::string_view name;
  std::string_view what;
};

/// Returns all bugs. The test suite must catch each of them (docs/testing.md).
std::vector<KnownBug> known_bugs();
/// Switches on the bug with this name, or none if it is empty. Returns false if there is no such bug, or this build has
/// no hooks. Called before the threads start that could make it.
bool inject_bug(std::string_view name);
/// Returns the name of the bug that is switched on in this process; empty unless a test chose one.
std::string_view injected_bug();
/// Whether the bug with this number is switched on.
bool is_injected(std::uint64_t number);

/// Whether this process shall make the mistake. It is the constant false in builds without hooks.
inline bool injected([[maybe_unused]] BugName bug) {
  if constexpr (kTestHooks) {
    return is_injected(bug.number());
  } else {
    return false;
  }
}

/// Is called at sync points of test builds. It may block, run another transaction, or do nothing.
using SyncHook = std::function<void(std::string_view point)>;
/// Installs a hook for the calling thread. An empty one removes it.
void set_sync_hook(SyncHook hook);
/// Installs a hook for threads without one of their own, those of a database included. Called before they start; all of
/// them call the hook.
void set_process_sync_hook(SyncHook hook);
void run_sync_hook(std::string_view point);

/// Marks a named place where a test may stop this thread.
inline void sync_point([[maybe_unused]] std::string_view point) {
  if constexpr (kTestHooks) run_sync_hook(point);
}

}  // namespace granary::base
