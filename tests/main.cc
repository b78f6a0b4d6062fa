// The main() of every test program. Beside GoogleTest's own flags:
//
//   --inject_bug=NAME   switches one of src/base/test_hooks.h's bugs on, in builds that have them: then the tests
//                       are expected to fail (tests/injected)
//   --asserting         with a bug: debug invariants (src/base/check.h) end the process as ever, instead of being
//                       muted, by which tests have to notice the bug by themselves
//   --list_bugs         prints the names
//   --htm=sim           databases of tests commit in simulated HTM regions (tests/support/htm_setting.h)
//   --htm=rtm           they commit in regions of Intel TSX, or run in them; no test runs where that does not work
//   --tables=shared     their tables are shared ones (tests/support/table_setting.h)
//   --seed=N            tests that go through many seeds run this one alone (tests/support/seeds.h)

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "src/base/check.h"
#include "src/base/region_mark.h"
#include "src/base/test_hooks.h"
#include "tests/support/allocations.h"
#include "tests/support/htm_setting.h"
#include "tests/support/protocol_setting.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"
#include "tests/support/table_setting.h"

/// LeakSanitizer's one suppression here. Options::simple_allocator takes records and nodes from malloc to measure what
/// that costs; what is live when such a database closes goes with the process, as finding it would cost what is
/// measured.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier): the sanitizer's name
  return "leak:granary::memory::SlabCache::allocate\n";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // those bring allocators of their own
/// I6: nothing allocates inside an HTM region. The array and nothrow forms end here, too.
void* operator new(std::size_t bytes) {
  granary::base::outside_region();
  const bool fails = ++granary::tests::allocations == granary::tests::failing_allocation || granary::tests::no_memory;
  void* const memory = fails ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr) return memory;
  throw std::bad_alloc();
}
/// Of memory resources, and of types with an alignment of their own; these are not counted.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  granary::base::outside_region();
  const auto step = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  const std::size_t whole = std::max<std::size_t>((bytes + step - 1) / step, 1) * step;
  void* const memory = granary::tests::no_memory ? nullptr : std::aligned_alloc(step, whole);
  if (memory != nullptr) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

constexpr int kUsage = 2;

bool ask_for_seed(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  granary::tests::asked_seed = seed;
  return true;
}

/// Prints, for the first failure of each seed, the command that runs this seed of this test alone.
class ReplayPrinter final : public testing::EmptyTestEventListener {
 public:
  explicit ReplayPrinter(std::string command) : command_(std::move(command)) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = &test;  // GoogleTest holds its lock while it tells of a failure, so it cannot be asked then
    granary::tests::running_seed.reset();
    told_.reset();
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    const std::optional<std::uint64_t> seed = granary::tests::running_seed;
    if (!result.failed() || !seed || told_ == seed || test_ == nullptr) return;
    told_ = seed;
    std::printf("replay: %s --seed=%llu --gtest_filter='%s.%s'\n", command_.c_str(),
                static_cast<unsigned long long>(*seed), test_->test_suite_name(), test_->name());
  }

  const std::string command_;
  const testing::TestInfo* test_ = nullptr;
  std::optional<std::uint64_t> told_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string command = argv[0];
  bool asserting = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kSeed = "--seed=";
    if (argument.starts_with(kSeed) && ask_for_seed(argument.substr(kSeed.size()))) continue;
    command += std::string(" ") + argv[i];
    if (argument == "--htm=sim") {
      granary::tests::asked_htm = granary::Htm::kSim;
      granary::tests::once_more = true;
      continue;
    }
    if (argument == "--htm=rtm" && granary::tests::rtm_works != nullptr) {
      if (!granary::tests::rtm_works()) {
        std::puts("[  SKIPPED ] no Intel TSX here");  // ctest looks for that
        return 0;
      }
      granary::tests::asked_htm = granary::Htm::kRtm;
      granary::tests::once_more = true;
      continue;
    }
    if (argument == "--tables=shared") {
      granary::tests::asked_shared_tables = true;
      continue;
    }
    if (argument == "--asserting") {
      asserting = true;
      continue;
    }
    constexpr std::string_view kInject = "--inject_bug=";
    if (argument == "--list_bugs") {
      for (const granary::base::KnownBug& bug : granary::base::known_bugs()) std::puts(bug.name.data());
      return 0;
    }
    if (!argument.starts_with(kInject) || !granary::base::inject_bug(argument.substr(kInject.size()))) {
      std::fprintf(stderr, "unknown argument or bug, or a build without test hooks: %s\n", argv[i]);
      return kUsage;
    }
  }
  if (!granary::base::injected_bug().empty() && !asserting) granary::base::mute_debug_invariants();
  std::vector<granary::tests::TestedProtocol>& protocols = granary::tests::protocols_in_turn;
  std::erase_if(protocols, [](const granary::tests::TestedProtocol& protocol) {
    const bool in_regions =
        protocol.commits_in_region || (granary::tests::asked_htm == granary::Htm::kRtm && protocol.runs_in_region);
    return (granary::tests::asked_htm != granary::Htm::kOff && !in_regions) ||
           ((granary::tests::asked_shared_tables || granary::tests::sharing_only) && !protocol.reaches_shared) ||
           (granary::tests::optimistic_only && (protocol.locks_reads || protocol.runs_in_region));
  });
  if (GTEST_FLAG_GET(repeat) == 1) GTEST_FLAG_SET(repeat, static_cast<int>(protocols.size()));
  testing::UnitTest::GetInstance()->listeners().Append(new ReplayPrinter(std::move(command)));
  return RUN_ALL_TESTS();
}
