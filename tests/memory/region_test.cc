// The region: alignment, cutting, exhaustion, page kinds. Not covered: NUMA placement (needs several nodes).

#include "src/memory/region.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/units.h"

namespace granary::memory {
namespace {

using tests::kMiB;

constexpr std::uint64_t kCut = 64 * 1024;

std::unique_ptr<Region> map(std::uint64_t bytes, HugePages huge_pages = HugePages::kOff) {
  auto region = Region::map({.reserve_bytes = bytes, .huge_pages = huge_pages});
  EXPECT_TRUE(region.ok()) << region.status().message();
  return std::move(region).value();
}

TEST(Region, RoundsUpToWholeHugePagesAndIsAligned) {
  const auto region = map(3 * kMiB);
  EXPECT_EQ(region->size(), 4 * kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->base()) % (2 * kMiB), 0u);
  EXPECT_EQ(region->page_kind(), "4 KiB");
}

TEST(Region, CutsOneAfterTheOtherUntilItIsFull) {
  const auto region = map(2 * kMiB);
  for (std::uint64_t cut = 0; cut < 2 * kMiB / kCut; ++cut) ASSERT_EQ(region->take(kCut), region->base() + cut * kCut);
  EXPECT_EQ(region->used(), region->size());
  EXPECT_EQ(region->take(kCut), nullptr);
  EXPECT_EQ(region->used(), region->size()) << "a refusal takes nothing";
}

TEST(Region, RefusesWhatIsLargerThanTheRest) {
  const auto region = map(2 * kMiB);
  EXPECT_EQ(region->take(4 * kMiB), nullptr);
  EXPECT_NE(region->take(2 * kMiB), nullptr);
}

TEST(Region, PrefaultedMemoryIsZeroAndWritable) {
  auto region = Region::map({.reserve_bytes = 4 * kMiB, .huge_pages = HugePages::kTry, .prefault_bytes = 4 * kMiB});
  ASSERT_TRUE(region.ok());
  char* bytes = (*region)->take(4 * kMiB);
  EXPECT_TRUE(std::all_of(bytes, bytes + 4 * kMiB, [](char byte) { return byte == 0; }));
  std::fill(bytes, bytes + 4 * kMiB, 'x');
}

TEST(Region, TooMuchAddressSpaceIsATypedError) {
  const auto region = Region::map({.reserve_bytes = std::uint64_t{1} << 60});
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.status().code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(region.status().message().empty());
}

TEST(Region, AnUnknownNumaNodeIsATypedError) {
  EXPECT_EQ(Region::map({.reserve_bytes = kMiB, .numa_node = 1000}).status().code(), StatusCode::kInvalidArgument);
}

TEST(Region, ThreadsNeverGetTheSamePiece) {
  const auto region = map(64 * kMiB);
  std::vector<std::vector<char*>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      while (char* piece = region->take(kCut)) mine.push_back(piece);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<char*> all;
  for (const auto& mine : taken) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 64 * kMiB / kCut);
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Region, SharedOneIsSeenThroughItsMemoryFile) {
  auto region = Region::map({.reserve_bytes = kMiB, .huge_pages = HugePages::kOff, .shared = true});
  ASSERT_TRUE(region.ok()) << region.status().message();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*region)->base()) % (2 * kMiB), 0u);
  ASSERT_GE((*region)->fd(), 0);
  void* other = ::mmap(nullptr, (*region)->size(), PROT_READ | PROT_WRITE, MAP_SHARED, (*region)->fd(), 0);
  ASSERT_NE(other, MAP_FAILED);
  (*region)->base()[kMiB] = 'x';
  EXPECT_EQ(static_cast<char*>(other)[kMiB], 'x');
  ::munmap(other, (*region)->size());
}

TEST(Region, PrivateOneHasNoMemoryFile) { EXPECT_EQ(map(kMiB)->fd(), -1); }

/// Gives the system so many 2 MiB pages more while it lives, if this process may.
class MoreHugePages {
 public:
  explicit MoreHugePages(std::uint64_t pages) : before_(read()) { write(before_ + pages); }
  ~MoreHugePages() { write(before_); }
  MoreHugePages(const MoreHugePages&) = delete;
  MoreHugePages& operator=(const MoreHugePages&) = delete;
  bool given() const { return read() > before_; }
  void take_back() const { write(before_); }

 private:
  static constexpr const char* kFile = "/proc/sys/vm/nr_hugepages";
  static std::uint64_t read() {
    std::uint64_t pages = 0;
    std::ifstream(kFile) >> pages;
    return pages;
  }
  static void write(std::uint64_t pages) { std::ofstream(kFile) << pages << std::endl; }
  const std::uint64_t before_;
};

/// Several regions may ask for pages of which there are enough for one, and the administrator may take pages away that
/// were not touched yet. A page that is not there when it is touched ends the process.
TEST(Region, NeverCountsOnPagesThatOthersMayTake) {
  const MoreHugePages more(8);
  if (!more.given()) GTEST_SKIP() << "this process may not give the system huge pages, or it has no memory for them";
  const auto touch = [](const Region& region) {
    for (std::uint64_t at = 0; at < region.size(); at += 2 * kMiB) region.base()[at] = 'x';
  };
  for (const bool shared : {false, true}) {
    std::array<std::unique_ptr<Region>, 2> regions;
    for (auto& region : regions) {
      region = Region::map({.reserve_bytes = 12 * kMiB, .huge_pages = HugePages::kTry, .shared = shared}).value();
      region->base()[0] = 'x';
    }
    for (const auto& region : regions) touch(*region);
  }
  const auto region = map(12 * kMiB, HugePages::kTry);
  region->base()[0] = 'x';
  more.take_back();
  touch(*region);
}

}  // namespace
}  // namespace granary::memory
