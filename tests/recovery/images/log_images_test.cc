// Recovery's look at what loggers leave when power fails before any of their calls: it is never refused as damaged, and
// D is what an independent decoder finds, no less than what was published. Not covered: replay into tables.

#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/log/logger_rig.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::recovery {
namespace {

using tests::FaultFiles;
using tests::LoggerRig;
using tests::Survives;

Manifest manifest_of(const LoggerRig& rig) {
  Manifest manifest;
  manifest.database = LoggerRig::kDatabase;
  manifest.log_directories = {LoggerRig::kDirectory};
  manifest.generations = {{.number = LoggerRig::kGeneration,
                           .loggers = rig.options().loggers,
                           .first_epoch = rig.options().first_epoch,
                           .cut = std::nullopt}};
  for (const std::uint64_t first : rig.first_segments()) manifest.generations.back().segments.push_back({first});
  if (rig.removed_until() != 0) manifest.checkpoint = {rig.removed_until() + 1, "checkpoint"};
  return manifest;
}

/// What is wrong with recovery's view of an image, "" if nothing.
std::string judge(const LoggerRig& rig, FaultFiles& image) {
  const auto scanned = scan_logs(image, manifest_of(rig), {});
  if (!scanned.ok()) return scanned.status().message();
  const auto decoded = rig.decode(image);
  if (scanned->durable != std::max(decoded.durable, rig.removed_until()))
    return "D is " + std::to_string(scanned->durable) + ", decoded was " + std::to_string(decoded.durable);
  return scanned->losses.empty() ? rig.judge(image) : "lost: " + scanned->losses.front().cause;
}

TEST(LogImagesIdle, WorkAfterALongPauseIsNoLossWhenItTears) {
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  rig.commit(0, "before the pause");
  rig.advance();
  for (int i = 0; i < 100; ++i) rig.advance();
  std::uint64_t images = 0;
  rig.files().set_observer([&](tests::FileCall, const std::string&) {
    for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i)
      EXPECT_EQ(judge(rig, *rig.files().power_loss_image(Survives::kRandom, ++images)), "") << "image " << images;
  });
  for (int i = 0; i < 3; ++i) {
    rig.commit(0, std::string(2000, 'v'));
    rig.advance();
  }
}

class LogImages : public testing::TestWithParam<tests::RigOptions> {};

TEST_P(LogImages, AreUnderstoodAndNeverRefused) {
  std::uint64_t images = 0;
  for (const std::uint64_t seed : tests::seeds(tests::sampled(8))) {
    if (HasFailure()) return;
    std::uint64_t image = 0;
    base::Random random(seed);
    LoggerRig rig(GetParam());
    ASSERT_TRUE(rig.open().ok());
    rig.files().set_observer([&](tests::FileCall call, const std::string& path) {
      if (HasFailure()) return;
      for (int i = 0; i < 4; ++i) {
        const Survives survives = i == 0 ? Survives::kSynced : i == 1 ? Survives::kAll : Survives::kRandom;
        EXPECT_EQ(judge(rig, *rig.files().power_loss_image(survives, seed * 1'000'000 + ++image)), "")
            << "seed " << seed << ", image " << image << ", before call kind " << static_cast<int>(call) << " for "
            << path;
      }
    });
    tests::run_at_random(rig, random, 150);
    if (const epoch::Epoch durable = rig.durable().current(); durable > 12) {
      EXPECT_TRUE(rig.remove_until(durable - 1 - random.below(3)).ok());
    }
    tests::run_at_random(rig, random, 100);
    images += image;
  }
  if (tests::all_seeds()) {
    EXPECT_GT(images, tests::sampled(1000));
  }
}

/// A lone logger publishes idle epochs without markers. The next marker must not name them: of the turn that it ends,
/// power loss may leave it and not what stands before it.
TEST(LogImagesOfOneLogger, APauseIsNoLoss) {
  LoggerRig rig({.ring_bytes = 65536});
  ASSERT_TRUE(rig.open().ok());
  rig.commit(0, "before");
  for (int i = 0; i < 20; ++i) rig.advance();
  std::uint64_t images = 0;
  rig.files().set_observer([&](tests::FileCall, const std::string& path) {
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
      EXPECT_EQ(judge(rig, *rig.files().power_loss_image(Survives::kRandom, ++images)), "")
          << "image " << images << ", before a call for " << path;
    }
  });
  for (int i = 0; i < 3; ++i) rig.commit(0, std::string(1500, 'x'));
  for (int i = 0; i < 3; ++i) rig.advance();
  EXPECT_GT(images, 100u);
}

/// A checkpoint may let segments go at any moment, also while the logger begins the next.
TEST(LogImagesOfOneLogger, ALoggerAlwaysHasAMarker) {
  LoggerRig rig({.segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  bool inside = false;
  std::uint64_t images = 0;
  rig.files().set_observer([&](tests::FileCall, const std::string& path) {
    if (inside || HasFailure()) return;
    inside = true;
    EXPECT_TRUE(rig.remove_until(rig.durable().current()).ok());
    for (const Survives survives : {Survives::kSynced, Survives::kAll, Survives::kRandom}) {
      EXPECT_EQ(judge(rig, *rig.files().power_loss_image(survives, ++images)), "")
          << "image " << images << ", before a call for " << path;
    }
    inside = false;
  });
  for (int i = 0; i < 10; ++i) {
    rig.commit(0, "value");
    rig.advance();
  }
  EXPECT_GT(images, 100u);
}

INSTANTIATE_TEST_SUITE_P(Logs, LogImages,
                         testing::Values(tests::RigOptions{}, tests::RigOptions{.loggers = 2},
                                         tests::RigOptions{.loggers = 3, .workers = 5, .segment_bytes = 700},
                                         tests::RigOptions{.loggers = 2, .codec = log::Codec::kLz4},
                                         tests::RigOptions{.loggers = 2, .codec = log::Codec::kZstd}));

}  // namespace
}  // namespace granary::recovery
