// The ring: wrap-around, room, what a former process's ring shows, what is refused. With threads: ring_stress_test.cc.

#include "src/log/ring.h"

#include <sys/time.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/file.h"
#include "tests/support/allocations.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::log {
namespace {

using testing::HasSubstr;

constexpr DatabaseId kDatabase = {1, 2, 3, 4};
constexpr Ring::Identity kIdentity{kDatabase, 5, 7};
constexpr std::uint64_t kCapacity = 4096;

/// The first `bytes` that were not drained yet are synced, at a place of the log that does not matter.
void sync(Ring& ring, std::uint64_t bytes) {
  ring.drained(bytes);
  ring.give_room({1, bytes});
}

/// Signals that come every millisecond, as from a profiler's timer, and only interrupt.
class Interrupted {
 public:
  Interrupted() : former_(std::signal(SIGALRM, [](int) {})) { set_period_us(1000); }
  ~Interrupted() {
    set_period_us(0);
    std::signal(SIGALRM, former_);
  }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

 private:
  static void set_period_us(long period_us) {
    const itimerval timer{{0, period_us}, {0, period_us}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }

  void (*const former_)(int);
};

class RingTest : public testing::Test {
 protected:
  std::unique_ptr<Ring> made(std::uint64_t capacity = kCapacity) {
    auto ring = Ring::create(path_, kIdentity, capacity);
    EXPECT_TRUE(ring.ok()) << ring.status().message();
    return std::move(*ring);
  }
  void publish(Ring& ring, std::string_view bytes) {
    ASSERT_TRUE(ring.has_room(bytes.size()));
    std::memcpy(ring.at_tail(), bytes.data(), bytes.size());
    ring.publish(bytes.size());
  }
  /// The refusal of the ring file after `change` was made to its bytes.
  template <typename Change>
  std::string refusal(Change&& change) {
    std::string bytes = *base::read_file(base::system_files(), path_);
    change(bytes);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const auto ring = Ring::open(path_, kDatabase);
    if (ring.ok()) return "accepted";
    EXPECT_EQ(ring.status().code(), StatusCode::kDamaged);
    EXPECT_THAT(ring.status().message(), HasSubstr(path_));
    return ring.status().message();
  }

  tests::TemporaryDirectory directory_;
  const std::string path_ = directory_ / ring_name(7);
};

/// Setting a large ring's memory aside takes many milliseconds, which a file system in memory gives up at any signal.
TEST_F(RingTest, IsMadeAlthoughSignalsKeepComing) {
  constexpr std::uint64_t kLarge = std::uint64_t{32} << 20;
  const tests::RingDirectory memory;
  const Interrupted interrupted;
  const auto ring = Ring::create(memory.path() + "/ring", kIdentity, kLarge);
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  EXPECT_TRUE((*ring)->has_room(kLarge));
}

TEST_F(RingTest, WrapsAtEveryAlignment) {
  const auto ring = made();
  std::string pattern(kCapacity, '\0');
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<char>(i * 31 + 7);
  for (std::uint64_t at = 0; at < kCapacity; at += kAlignment) {
    publish(*ring, pattern);
    ASSERT_EQ(ring->pending(), pattern) << "at " << at;
    sync(*ring, kCapacity);
    publish(*ring, pattern.substr(0, kAlignment));  // moves on by one
    sync(*ring, kAlignment);
    ASSERT_TRUE(ring->pending().empty());
  }
}

TEST_F(RingTest, HasRoomForExactlyWhatIsFree) {
  const auto ring = made();
  EXPECT_TRUE(ring->has_room(kCapacity));
  publish(*ring, std::string(kCapacity - 16, 'x'));
  EXPECT_TRUE(ring->has_room(16));
  EXPECT_FALSE(ring->has_room(24));
  publish(*ring, std::string(16, 'y'));
  EXPECT_FALSE(ring->has_room(8));
  EXPECT_EQ(ring->pending().size(), kCapacity);
  sync(*ring, 24);
  EXPECT_TRUE(ring->has_room(24));
  EXPECT_FALSE(ring->has_room(32));
  EXPECT_EQ(ring->pending().size(), kCapacity - 24);
}

TEST_F(RingTest, CapacityIsRoundedUpToAPowerOfTwo) {
  EXPECT_EQ(made(1)->capacity(), 4096u);
  ASSERT_TRUE(base::system_files().remove(path_).ok());
  EXPECT_EQ(made(4097)->capacity(), 8192u);
}

TEST_F(RingTest, ReopenedAfterDeathShowsExactlyWhatWasPublished) {
  {
    const auto ring = made();
    publish(*ring, std::string(4000, 'a'));
    sync(*ring, 4000);
    publish(*ring, std::string(400, 'b'));
    publish(*ring, std::string(800, 'c'));
    sync(*ring, 400);
    std::memset(ring->at_tail(), 'd', 80);  // never published
  }
  const auto ring = Ring::open(path_, kDatabase);
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  EXPECT_EQ((*ring)->pending(), std::string(800, 'c'));
  EXPECT_EQ((*ring)->header().generation, kIdentity.generation);
  EXPECT_EQ((*ring)->header().worker, kIdentity.worker);
}

/// What a worker may write over is synced. What is drained only is there for the next process, and not for the logger
/// again.
TEST_F(RingTest, KeepsWhatWasDrainedUntilItIsSynced) {
  {
    const auto ring = made();
    EXPECT_EQ(ring->position(), Position());
    publish(*ring, std::string(2000, 'a'));
    publish(*ring, std::string(1000, 'b'));
    ring->drained(2000);
    EXPECT_EQ(ring->undrained(), std::string(1000, 'b'));
    EXPECT_EQ(ring->held(), 3000u);
    EXPECT_FALSE(ring->has_room(kCapacity - 2000));
    ring->give_room({3, 500});
    EXPECT_TRUE(ring->has_room(kCapacity - 1000));
    EXPECT_EQ(ring->position(), (Position{3, 500}));
    ring->give_room({4, 600});
    EXPECT_EQ(ring->position(), (Position{3, 500})) << "nothing of this ring is behind that";
    ring->drained(1000);
  }
  const auto ring = Ring::open(path_, kDatabase);
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  EXPECT_EQ((*ring)->pending(), std::string(1000, 'b'));
  EXPECT_EQ((*ring)->position(), (Position{3, 500}));
}

TEST_F(RingTest, CreationRefusesWhatIsThere) {
  publish(*made(), std::string(8, 'x'));
  EXPECT_EQ(Ring::create(path_, kIdentity, kCapacity).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ((*Ring::open(path_, kDatabase))->pending().size(), 8u) << "and leaves it alone";
  const auto lost = Ring::create(directory_ / "none/ring", kIdentity, kCapacity);
  EXPECT_EQ(lost.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(lost.status().message(), HasSubstr("none/ring"));
}

TEST_F(RingTest, CreationLeavesAndNeedsNothingBesideTheRing) {
  std::ofstream(path_ + ".new") << "left by a creation that was killed";
  made();
  EXPECT_EQ(*base::system_files().list(directory_.path()), std::vector<std::string>{ring_name(7)});
}

TEST_F(RingTest, RefusesTheRingOfAnotherDatabase) {
  made();
  const auto ring = Ring::open(path_, DatabaseId{9});
  EXPECT_EQ(ring.status().code(), StatusCode::kDamaged);
  EXPECT_THAT(ring.status().message(), HasSubstr("another database"));
  EXPECT_THAT(ring.status().message(), HasSubstr(path_));
  EXPECT_EQ(Ring::open(path_ + "x", kDatabase).status().code(), StatusCode::kNotFound);
}

TEST_F(RingTest, RefusesATruncatedFile) {
  for (const std::size_t bytes : {0u, 1u, 200u, 4095u, 4096u, 4097u, 8191u}) {
    ASSERT_TRUE(base::system_files().remove(path_).ok() || bytes == 0);
    made();
    EXPECT_THAT(refusal([&](std::string& file) { file.resize(bytes); }),
                HasSubstr("it has " + std::to_string(bytes) + " bytes"));
  }
  ASSERT_TRUE(base::system_files().remove(path_).ok());
  made();
  EXPECT_THAT(refusal([](std::string& file) { file.resize(4096 + 8192); }), HasSubstr("do not fit"));
}

TEST_F(RingTest, RefusesAnotherVersionByNumber) {
  made();
  for (const char version : {5, 7, 11}) {
    const std::string message = refusal([&](std::string& file) { file[offsetof(RingHeader, version)] = version; });
    EXPECT_THAT(message, HasSubstr("format version " + std::to_string(version) +
                                   ", expected 9 or 10, or 6 or 8 of former releases"));
  }
}

TEST_F(RingTest, OnlyThatOfANodeOfAClusterHasALockAheadRecord) {
  for (const std::uint32_t version :
       {kFormatVersion, kClusterFormatVersion, kFormerVersion, kFormerClusterRingVersion}) {
    const bool of_cluster = version == kClusterFormatVersion || version == kFormerClusterRingVersion;
    for (const std::uint64_t capacity : {kCapacity, std::uint64_t{4} << 20}) {
      {
        const auto ring = Ring::create(path_, {kDatabase, 5, 7, version}, capacity);
        ASSERT_TRUE(ring.ok()) << ring.status().message();
        publish(**ring, std::string(80, 'x'));
        if (of_cluster) std::memset((*ring)->lock_ahead()->block(0), 'y', kLockBlockBytes);
      }
      const auto ring = Ring::open(path_, kDatabase);
      ASSERT_TRUE(ring.ok()) << ring.status().message();
      EXPECT_EQ((*ring)->pending(), std::string(80, 'x'));
      EXPECT_EQ((*ring)->lock_ahead() != nullptr, of_cluster);
      const std::uint64_t bytes = of_cluster ? lock_area_bytes(capacity) : 0;
      EXPECT_EQ((*ring)->lock_area().size(), bytes);
      ASSERT_TRUE(base::system_files().remove(path_).ok());
    }
  }
}

TEST_F(RingTest, RefusesALockAheadRecordWhereThereIsNone) {
  made();
  EXPECT_THAT(refusal([](std::string& file) { file.resize(file.size() + lock_area_bytes(kCapacity)); }),
              HasSubstr("do not fit format version 9"));
}

TEST_F(RingTest, RefusesGarbage) {
  made();
  EXPECT_THAT(refusal([](std::string& file) { file.assign(file.size(), '\0'); }), HasSubstr("does not begin as one"));
  EXPECT_THAT(refusal([](std::string& file) { file.assign(file.size(), 'x'); }), HasSubstr("does not begin as one"));
}

TEST_F(RingTest, EveryChangedBitOfTheIdentityIsRefused) {
  made();
  const std::string good = *base::read_file(base::system_files(), path_);
  for (std::size_t at = 0; at < offsetof(RingHeader, rings); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      EXPECT_NE(refusal([&](std::string& file) {
                  file = good;
                  file[at] = static_cast<char>(file[at] ^ (1 << bit));
                }),
                "accepted")
          << "byte " << at << " bit " << bit;
    }
  }
}

TEST_F(RingTest, RefusesCountsThatCannotBe) {
  made();
  const auto with = [&](std::uint64_t head, std::uint64_t tail) {
    return refusal([&](std::string& file) {
      std::memcpy(file.data() + offsetof(RingHeader, head), &head, sizeof head);
      std::memcpy(file.data() + offsetof(RingHeader, tail), &tail, sizeof tail);
    });
  };
  EXPECT_THAT(with(8, 0), HasSubstr("head 8, tail 0"));
  EXPECT_THAT(with(0, kCapacity + 8), HasSubstr("do not fit"));
  EXPECT_EQ(with(kCapacity, 2 * kCapacity), "accepted");
}

/// The name is so short that only the ring itself needs memory.
TEST(RingFiles, NoneStaysIfThereIsNoMemoryForTheRing) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const tests::RingDirectory directory;
  const std::filesystem::path former = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  const std::string name = "ring";
  tests::no_memory = true;
  const auto ring = Ring::create(name, kIdentity, kCapacity);
  tests::no_memory = false;
  std::filesystem::current_path(former);
  EXPECT_EQ(ring.status().code(), StatusCode::kResourceExhausted) << ring.status().message();
  EXPECT_TRUE(directory.contents().empty());
}

}  // namespace
}  // namespace granary::log
