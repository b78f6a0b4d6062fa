// Tests that the file system that fails and forgets loses only what was not synced. Not covered: the system's real
// files behave no worse than this model.

#include "tests/support/fault_files.h"
#include "tests/support/seeds.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

constexpr std::uint64_t kSeeds = 300;

std::unique_ptr<base::File> made(FaultFiles& files, const std::string& path) {
  EXPECT_TRUE(files.make_directory("/d").ok());
  auto file = files.create(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(*file);
}

TEST(FaultFiles, PowerLossKeepsWhatWasSynced) {
  FaultFiles files;
  auto file = made(files, "/d/a");
  ASSERT_TRUE(file->append(std::string(700, 'x')).ok());
  ASSERT_TRUE(file->sync().ok());
  EXPECT_TRUE(files.power_loss_image(Survives::kSynced)->paths().empty()) << "the directory was not synced";
  ASSERT_TRUE(files.sync_directory("/d").ok());
  ASSERT_TRUE(file->append(std::string(3000, 'y')).ok());
  EXPECT_EQ(files.power_loss_image(Survives::kSynced)->contents("/d/a"), std::string(700, 'x'));
  EXPECT_EQ(files.power_loss_image(Survives::kAll)->contents("/d/a"), std::string(700, 'x') + std::string(3000, 'y'));
  for (const std::uint64_t seed : seeds(kSeeds, 0)) {
    EXPECT_TRUE(files.power_loss_image(Survives::kRandom, seed)->contents("/d/a").starts_with(std::string(700, 'x')))
        << "seed " << seed;
  }
}

TEST(FaultFiles, RandomImagesDifferAndReorder) {
  FaultFiles files;
  auto file = made(files, "/d/a");
  ASSERT_TRUE(files.sync_directory("/d").ok());
  ASSERT_TRUE(file->append(std::string(std::size_t{8} * 512, 'y')).ok());
  std::set<std::string> seen;
  bool later_without_earlier = false;
  for (const std::uint64_t seed : seeds(kSeeds, 0)) {
    const std::string left = files.power_loss_image(Survives::kRandom, seed)->contents("/d/a");
    EXPECT_EQ(left, files.power_loss_image(Survives::kRandom, seed)->contents("/d/a")) << "not a function of its seed";
    later_without_earlier |= left.find(std::string(512, '\0') + "y") != std::string::npos;
    seen.insert(left);
  }
  EXPECT_GT(seen.size(), kSeeds / 4);
  EXPECT_TRUE(later_without_earlier);
}

TEST(FaultFiles, NamesAreLostOneByOneUntilTheDirectoryIsSynced) {
  FaultFiles files;
  made(files, "/d/a");
  ASSERT_TRUE(files.sync_directory("/d").ok());
  made(files, "/d/b");
  ASSERT_TRUE(files.rename("/d/b", "/d/a").ok());
  made(files, "/d/c");
  std::set<std::vector<std::string>> seen;
  for (const std::uint64_t seed : seeds(kSeeds, 0)) {
    const auto image = files.power_loss_image(Survives::kRandom, seed);
    EXPECT_FALSE(image->paths().empty()) << "a was there before and after, seed " << seed;
    seen.insert(image->paths());
  }
  EXPECT_EQ(seen.size(), 4u) << "b and c are there or not, a always";
  ASSERT_TRUE(files.sync_directory("/d").ok());
  EXPECT_EQ(files.power_loss_image(Survives::kSynced)->paths(), (std::vector<std::string>{"/d/a", "/d/c"}));
  EXPECT_EQ(*files.list("/d"), (std::vector<std::string>{"a", "c"}));
}

TEST(FaultFiles, ASyncThatFailsOnceCanLoseThePages) {
  FaultFiles files;
  auto file = made(files, "/d/a");
  ASSERT_TRUE(files.sync_directory("/d").ok());
  files.plan({.call = FileCall::kSync, .pages_lost = true});
  ASSERT_TRUE(file->append(std::string(1024, 'x')).ok());
  EXPECT_EQ(file->sync().code(), StatusCode::kIoError);
  ASSERT_TRUE(file->append(std::string(1024, 'y')).ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(files.contents("/d/a"), std::string(1024, 'x') + std::string(1024, 'y'));
  EXPECT_EQ(files.power_loss_image(Survives::kAll)->contents("/d/a"), std::string(1024, '\0') + std::string(1024, 'y'));
}

TEST(FaultFiles, ASyncOfADirectoryThatFailsOnceCanLoseTheNames) {
  FaultFiles files;
  made(files, "/d/a");
  ASSERT_TRUE(files.sync_directory("/d").ok());
  files.plan({.call = FileCall::kSyncDirectory, .pages_lost = true});
  ASSERT_TRUE(files.rename("/d/a", "/d/b").ok());
  EXPECT_EQ(files.sync_directory("/d").code(), StatusCode::kIoError);
  made(files, "/d/c");
  EXPECT_TRUE(files.sync_directory("/d").ok());
  EXPECT_EQ(files.paths(), (std::vector<std::string>{"/d/b", "/d/c"}));
  EXPECT_EQ(files.power_loss_image(Survives::kAll)->paths(), (std::vector<std::string>{"/d/a", "/d/c"}));
}

TEST(FaultFiles, AProcessCrashKeepsAllButDoesNotSyncIt) {
  FaultFiles files;
  auto file = made(files, "/d/a");
  auto lock = files.lock("/d/lock");
  EXPECT_EQ(files.lock("/d/lock").status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(files.sync_directory("/d").ok());
  ASSERT_TRUE(file->append(std::string("abc")).ok());
  const auto image = files.process_crash_image();
  EXPECT_EQ(image->contents("/d/a"), "abc");
  EXPECT_EQ(image->power_loss_image(Survives::kSynced)->contents("/d/a"), "");
  EXPECT_TRUE(image->lock("/d/lock").ok()) << "a lock ends with its process";
}

TEST(FaultFiles, FailsAsPlanned) {
  FaultFiles files;
  files.plan({.call = FileCall::kAppend, .nth = 1, .code = StatusCode::kDiskFull, .path = "a", .written = 2});
  files.plan({.call = FileCall::kCreate, .nth = 2, .from_then_on = true});
  auto a = made(files, "/d/a");
  auto b = made(files, "/d/b");
  EXPECT_TRUE(b->append(std::string("one")).ok());
  EXPECT_TRUE(a->append(std::string("one")).ok());
  EXPECT_TRUE(b->append(std::string("two")).ok());
  const Status full = a->append(std::string("two"));
  EXPECT_EQ(full.code(), StatusCode::kDiskFull);
  EXPECT_NE(full.message().find("'/d/a'"), std::string::npos);
  EXPECT_EQ(files.contents("/d/a"), "onetw");
  EXPECT_FALSE(files.create("/d/c").ok());
  EXPECT_FALSE(files.create("/d/c").ok());
  EXPECT_EQ(files.faults_hit(), 3u);
}

TEST(FaultFiles, FillsUp) {
  FaultFiles files;
  files.set_capacity(1000);
  auto file = made(files, "/d/a");
  EXPECT_TRUE(file->append(std::string(900, 'x')).ok());
  EXPECT_EQ(file->append(std::string(200, 'x')).code(), StatusCode::kDiskFull);
  EXPECT_EQ(*file->size(), 1000u);
  ASSERT_TRUE(files.remove("/d/a").ok());
  EXPECT_TRUE(made(files, "/d/b")->append(std::string(1000, 'x')).ok());
}

TEST(FaultFiles, ReplacingAFileIsAtomicWhateverIsLost) {
  FaultFiles files;
  ASSERT_TRUE(files.make_directory("/d").ok());
  ASSERT_TRUE(base::replace_file(files, "/d/m", std::string(2000, 'o')).ok());
  std::uint64_t seed = 0;
  files.set_observer([&](FileCall, const std::string&) {
    for (int round = 0; round < 50; ++round) {
      const std::string left = files.power_loss_image(Survives::kRandom, ++seed)->contents("/d/m");
      EXPECT_TRUE(left == std::string(2000, 'o') || left == std::string(2500, 'n')) << "seed " << seed;
    }
  });
  ASSERT_TRUE(base::replace_file(files, "/d/m", std::string(2500, 'n')).ok());
  EXPECT_EQ(files.power_loss_image(Survives::kSynced)->contents("/d/m"), std::string(2500, 'n'));
}

TEST(FaultFiles, PassesThroughToTheSystem) {
  FaultFiles files;
  const TemporaryDirectory own;
  const std::string directory = own / "passes";
  files.pass_through(directory + "/");
  ASSERT_TRUE(files.make_directory(directory).ok());
  ASSERT_TRUE(files.create(directory + "/a").ok());
  EXPECT_TRUE(base::system_files().open(directory + "/a").ok());
  EXPECT_TRUE(files.remove(directory + "/a").ok());
  EXPECT_TRUE(files.paths().empty());
}

TEST(FaultFiles, DirectoriesGoWhenTheyAreEmpty) {
  FaultFiles files;
  ASSERT_TRUE(files.make_directory("/d/sub").ok());
  files.put("/d/sub/file", "x");
  EXPECT_EQ(files.remove("/d/sub").code(), StatusCode::kIoError);
  EXPECT_EQ(files.remove("/d").code(), StatusCode::kIoError);
  ASSERT_TRUE(files.remove("/d/sub/file").ok());
  ASSERT_TRUE(files.remove("/d/sub").ok());
  EXPECT_EQ(files.list("/d/sub").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(files.remove("/d/sub").code(), StatusCode::kNotFound);
  // The file's removal was not durable: it comes back, and its directory with it.
  const auto image = files.power_loss_image(Survives::kSynced);
  EXPECT_EQ(image->list("/d/sub").value(), std::vector<std::string>{"file"});
}

}  // namespace
}  // namespace granary::tests
