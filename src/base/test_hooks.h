#pragma once
// What only test builds have: bugs that can be switched on by name, to see that the tests notice, and sync
// points, to force an interleaving. In other builds every call here is a constant and vanishes.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace granary::base {

/// True in builds with -DGRANARY_TEST_HOOKS=ON.
inline constexpr bool kTestHooks = GRANARY_TEST_HOOKS;

/// A mistake that one could make in this code, by its name. Code that could make it asks
/// `injected("skip-read-validation")`; `known_bugs()` says what each name means. The compiler turns the name into a
/// number, so that asking costs a comparison, and a new bug means no new header.
class BugName {
 public:
  // Implicit, so that a literal is a name: not the place for spelling errors, which `injected:names` finds.
  consteval BugName(const char* name) : hash_(hash(name)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr std::uint64_t number() const { return hash_; }

  /// FNV-1a; never 0.
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

/// All of them; each must be caught by the test suite (docs/testing.md).
std::vector<KnownBug> known_bugs();
/// Switches on the bug with this name, or none if it is empty. False if there is no such bug, or no hooks in this
/// build. Before the threads start that could make it.
bool inject_bug(std::string_view name);
/// The name of the bug that is switched on in this process; empty unless a test chose one.
std::string_view injected_bug();
/// Whether the bug with this number is switched on.
bool is_injected(std::uint64_t number);

/// Whether this process shall make the mistake. A constant false in builds without hooks.
inline bool injected([[maybe_unused]] BugName bug) {
  if constexpr (kTestHooks) {
    return is_injected(bug.number());
  } else {
    return false;
  }
}

/// Called at sync points of test builds; may block, run another transaction, or do nothing.
using SyncHook = std::function<void(std::string_view point)>;
/// Installs a hook for the calling thread (empty: none).
void set_sync_hook(SyncHook hook);
/// Installs a hook for threads without one of their own, those of a database included. Before they start; called by
/// all.
void set_process_sync_hook(SyncHook hook);
void run_sync_hook(std::string_view point);

/// A named place where a test may stop this thread.
inline void sync_point([[maybe_unused]] std::string_view point) {
  if constexpr (kTestHooks) run_sync_hook(point);
}

}  // namespace granary::base
