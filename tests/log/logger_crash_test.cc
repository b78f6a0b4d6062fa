// Power fails before every call that loggers make of the file system: what is left holds every transaction with an
// epoch ≤ D, as D was published at that moment, and is a prefix of epochs; whichever unsynced sectors and names are
// lost. And if only the process dies there, files and rings together hold every transaction, also if the disk then
// loses what was not synced. Not covered: several threads (log_stress_test).

#include <gtest/gtest.h>

#include "tests/log/logger_rig.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

struct Shape {
  const char* name;
  RigOptions options;
};

class LoggerCrash : public testing::TestWithParam<Shape> {};

TEST_P(LoggerCrash, WhatDPromisesIsLeft) {
  std::uint64_t images = 0;
  epoch::Epoch epochs = 0;
  for (const std::uint64_t seed : seeds(sampled(12))) {
    if (HasFailure()) break;
    std::uint64_t images_of_seed = 0;
    base::Random random(seed);
    LoggerRig rig(GetParam().options);
    ASSERT_TRUE(rig.open().ok());
    rig.files().set_observer([&](FileCall call, const std::string& path) {
      if (HasFailure()) return;
      constexpr int kRandomImages = 3;
      images += kRandomImages;
      images_of_seed += kRandomImages;
      EXPECT_EQ(rig.judge_power_loss(seed * 1'000'000 + images_of_seed, kRandomImages), "")
          << "seed " << seed << ", before call kind " << static_cast<int>(call) << " for " << path;
      EXPECT_EQ(rig.judge_process_crash(), "") << "seed " << seed << ", before a call for " << path;
      EXPECT_EQ(rig.judge_disk_loss(), "") << "seed " << seed << ", before a call for " << path;
      // Others go on while a logger is at it.
      const std::size_t worker = random.below(rig.workers());
      if (rig.has_room(worker) && random.chance(0.3)) rig.commit(worker, random);
      if (random.chance(0.3)) rig.epochs().tick();
    });
    run_at_random(rig, random, 150);
    if (const epoch::Epoch durable = rig.durable().current(); durable > 10 && random.chance(0.8)) {
      EXPECT_TRUE(rig.remove_until(durable - 1 - random.below(3)).ok());
    }
    run_at_random(rig, random, 150);
    epochs += rig.durable().current() - GetParam().options.first_epoch;
    EXPECT_FALSE(rig.durable().failed());
  }
  EXPECT_GT(epochs, 50u) << "D hardly moved; the test saw nothing";
  RecordProperty("images", std::to_string(images));
}

INSTANTIATE_TEST_SUITE_P(Logs, LoggerCrash,
                         testing::Values(Shape{"OneLogger", {}}, Shape{"TwoLoggers", {.loggers = 2}},
                                         Shape{"ThreeLoggersManySegments",
                                               {.loggers = 3, .workers = 5, .segment_bytes = 700}},
                                         Shape{"OneSegmentEach", {.loggers = 2, .segment_bytes = 1 << 30}},
                                         Shape{"SetAside", {.loggers = 2, .segment_bytes = 700, .spares = 3}},
                                         Shape{"FullRings", {.loggers = 2, .segment_bytes = 700, .ring_bytes = 1024}},
                                         Shape{"Lz4", {.loggers = 2, .codec = log::Codec::kLz4}},
                                         Shape{"Zstd", {.loggers = 2, .codec = log::Codec::kZstd}}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace granary::tests
