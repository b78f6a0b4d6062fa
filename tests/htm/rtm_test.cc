// Regions on Intel TSX. All of this is skipped where that does not work, so a machine that has it should run it now and
// then.

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "htm/open_region.h"
#include "htm/program_pages.h"
#include "htm/region.h"

namespace granary::htm {
namespace {

/// Only regions call it, and it has a page of its own.
[[gnu::noinline, gnu::aligned(8192), gnu::section(".text.only_regions")]] std::uint64_t next_of(std::uint64_t number) {
  asm volatile("");
  return number + 1;
}
[[gnu::noinline, gnu::aligned(8192), gnu::used, gnu::section(".text.only_regions")]] void fills_the_rest_of_the_page() {
}

/// Clears the flags in this process's page tables that say which pages have been accessed, as a system does that looks
/// for unused ones.
bool clear_accessed_flags() {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, "1", 1) == 1;
  ::close(file);
  return written;
}

class Rtm : public testing::Test {
 protected:
  void SetUp() override {
    if (!rtm_works()) GTEST_SKIP() << "no Intel TSX here";
  }

  // Enough that no chance, such as an interrupt each time, makes a test fail.
  static constexpr Policy kPatient{.retries = {100, 100, 100, 100}};
  const Support support_{Backend::kRtm, {}};
  base::ThreadWaiter waiter_;
};

TEST_F(Rtm, CommitsAndAborts) {
  Region region(support_, 0, waiter_, kPatient);
  std::uint64_t word = 0;
  EXPECT_TRUE(region
                  .run([&](auto& memory) {
                    memory.store(&word, 1);
                    return Verdict::done();
                  })
                  .committed);
  const Attempt asked = region.run([&](auto& memory) {
    memory.store(&word, 2);
    return Verdict::give_up(5);
  });
  EXPECT_EQ(word, 1u);
  EXPECT_EQ(asked.verdict.code(), 5);
  EXPECT_EQ(region.counters().commits.load(), 1u);
}

TEST_F(Rtm, AnOpenRegionAbortsToWhereItWasOpened) {
  OpenRegion region(support_, 0, waiter_, kPatient);
  const auto aborts = [&] { return region.counters().aborts[static_cast<std::size_t>(Cause::kExplicit)].load(); };
  std::uint64_t word = 0;
  int opened = 0;
  ASSERT_TRUE(region.open());  // returns twice: once more after the abort
  ++opened;                    // which undoes this, as it undoes all stores
  (void)region.part([&](auto& memory) {
    memory.store(&word, memory.load(&word) + 1);
    return Verdict::done();
  });
  if (aborts() == 0) region.abort(Verdict::retry(3));
  EXPECT_TRUE(region.close());
  EXPECT_EQ(word, 1u);
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(region.counters().commits.load(), 1u);
  EXPECT_EQ(aborts(), 1u);
}

TEST_F(Rtm, MoreThanTheCacheHoldsIsCapacity) {
  Region region(support_, 0, waiter_);
  std::vector<std::uint64_t> words(std::size_t{1} << 20, 1);
  const auto aborts = [&] { return region.counters().aborts[static_cast<std::size_t>(Cause::kCapacity)].load(); };
  for (int i = 0; i < 100 && aborts() == 0; ++i) {  // an interrupt may come first
    const Attempt ending = region.run([&](auto& memory) {
      for (std::size_t at = 0; at < words.size(); at += 8) memory.store(&words[at], 2);
      return Verdict::done();
    });
    EXPECT_FALSE(ending.committed);
  }
  EXPECT_GT(aborts(), 0u);
  EXPECT_EQ(std::count(words.begin(), words.end(), 1u), static_cast<std::ptrdiff_t>(words.size()));
}

/// Regions that call next_of(), and count.
class RtmPages : public Rtm {
 protected:
  void SetUp() override {
    Rtm::SetUp();
    if (IsSkipped()) return;
    if (!clear_accessed_flags()) GTEST_SKIP() << "no /proc/self/clear_refs here";
  }
  template <typename Try>
  bool commits_in_time(const Try& committed) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!committed()) {
      (void)base::load_word(&word_);  // the way without regions uses the same data
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  std::uint64_t word_ = 0;
};

TEST_F(RtmPages, CodeThatOnlyRegionsRunIsFoundAgain) {
  Region region(support_, 0, waiter_);
  EXPECT_TRUE(commits_in_time([&] {
    return region
        .run([&](auto& memory) {
          memory.store(&word_, next_of(memory.load(&word_)));
          return Verdict::done();
        })
        .committed;
  }));
}

TEST_F(RtmPages, CodeThatOnlyOpenRegionsRunIsFoundAgain) {
  OpenRegion region(support_, 0, waiter_);
  EXPECT_TRUE(commits_in_time([&] {
    if (!region.open()) return false;
    (void)region.part([&](auto& memory) {
      memory.store(&word_, next_of(memory.load(&word_)));
      return Verdict::done();
    });
    return region.close();
  }));
}

TEST(ProgramPages, TouchingThemHarmsNothing) {
  touch_program();
  touch_program();
}

}  // namespace
}  // namespace granary::htm
