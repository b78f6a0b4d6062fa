// Which files in the reliable directory count as the rings of the process that died.

#include "recovery/surviving_rings.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace granary::recovery {
namespace {

class SurvivingRingsTest : public testing::Test {
 protected:
  SurvivingRingsTest() {
    manifest_.database = new_id();
    manifest_.reliable_directory = directory_.path();
    manifest_.boot = boot_id().ok() ? *boot_id() : "";
    manifest_.generations.push_back({.number = 3, .cut = {}, .stamp = 7});
  }
  /// `all`: how many rings the generation has, as far as this one knows.
  void make(std::uint32_t worker, std::uint64_t generation = 3, std::uint64_t all = 1, log::Stamp stamp = 7) {
    const log::Ring::Identity identity{
        .database = manifest_.database, .generation = generation, .worker = worker, .stamp = stamp};
    const auto ring = log::Ring::create(directory_ / log::ring_name(worker), identity, 4096);
    ASSERT_TRUE(ring.ok());
    (*ring)->note_rings(all);
  }
  void SetUp() override {
    if (!boot_id().ok()) GTEST_SKIP() << "this system has no boot id, so no rings survive";
  }

  tests::TemporaryDirectory directory_;
  Manifest manifest_;
};

TEST_F(SurvivingRingsTest, FindsThemByWorker) {
  make(0);
  make(1);
  const auto found = find_rings(manifest_);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->rings.size(), 2u);
  EXPECT_EQ(found->entries()[1].name, "ring-0001");
}

/// The same generation of a state of the database that others were put back over.
TEST_F(SurvivingRingsTest, OneOfAnotherLifeIsRefused) {
  make(0);
  make(1, 3, 2, 8);
  const Status refused = find_rings(manifest_).status();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_THAT(refused.message(), testing::HasSubstr(directory_ / "ring-0001" +
                                                    "' is of another life of this database: it has stamp "
                                                    "0000000000000008, and the manifest says 0000000000000007"));
}

/// A worker's ring in the place of another's: that one's transactions would be missing without a word.
TEST_F(SurvivingRingsTest, OneUnderAnothersNameIsRefused) {
  make(0, 3, 2);
  make(1, 3, 2);
  std::filesystem::copy_file(directory_ / "ring-0000", directory_ / "ring-0001",
                             std::filesystem::copy_options::overwrite_existing);
  const Status refused = find_rings(manifest_).status();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_THAT(refused.message(), testing::HasSubstr(directory_ / "ring-0001" +
                                                    "' is that of worker 0, expected under the name 'ring-0000'"));
}

/// The process died while it removed them, and had noted the end before.
TEST_F(SurvivingRingsTest, ThoseOfAGenerationThatHasEndedHoldNothing) {
  manifest_.generations.back().cut = 9;
  make(1, 3, 2);
  const auto found = find_rings(manifest_);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->rings.empty());
  EXPECT_EQ(found->note, "");
}

TEST_F(SurvivingRingsTest, AMissingOneMakesAllNotCount) {
  make(0, 3, 3);
  make(2, 3, 3);
  const auto found = find_rings(manifest_);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->rings.empty());
  EXPECT_THAT(found->note, testing::HasSubstr("1 of 3 log rings are missing"));
}

TEST_F(SurvivingRingsTest, AMissingLastOneIsNoticedByTheOthers) {
  make(0, 3, 2);
  const auto found = find_rings(manifest_);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->rings.empty());
  EXPECT_THAT(found->note, testing::HasSubstr("1 of 2 log rings are missing"));
}

TEST_F(SurvivingRingsTest, OnesOfAnEarlierGenerationOrBootAreNone) {
  make(0, 2);
  EXPECT_TRUE(find_rings(manifest_)->rings.empty());
  make(1, 3);
  manifest_.boot = "another";
  EXPECT_TRUE(find_rings(manifest_)->rings.empty());
}

/// Ring::create was killed: what it leaves is no ring, and no reason to refuse the database.
TEST_F(SurvivingRingsTest, AnUnfinishedOneIsPassedBy) {
  make(0);
  std::ofstream(directory_ / "ring-0001.new") << std::string(8192, '\0');
  const auto found = find_rings(manifest_);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->rings.size(), 1u);
}

TEST_F(SurvivingRingsTest, WhatIsNoRingIsAnErrorWithItsPath) {
  std::ofstream(directory_ / "ring-0000") << std::string(8192, '\0');
  const auto found = find_rings(manifest_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kDamaged);
  EXPECT_THAT(found.status().message(), testing::HasSubstr(directory_ / "ring-0000"));
}

}  // namespace
}  // namespace granary::recovery
